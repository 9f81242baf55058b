"""Records three updates in a row by torch, transformers, peft and AdamW on the checkpoint and adapter of
architectures/qwen2-tied-f32, as the truth of test/ml/updateParity.test.ts.

    python record_chain.py OUT_FOLDER        (after record_architectures.py; versions are kept in chain.json)

chain.json holds the configuration and, per step, the rows as the engine takes them and the numbers that it
returns; chain.safetensors the adapter after every step. eps lies far above what f32 leaves of a gradient that should be
zero, so that every entry can be compared.
"""
import json
import os
import sys

import peft
import torch
import transformers
from safetensors.torch import save_file

OUT = sys.argv[1]
MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "architectures", "qwen2-tied-f32")
CONFIG = {"learningRate": 0.003, "weightDecay": 0.05, "clip": 0.2, "maxGradNorm": 0.5, "betas": [0.9, 0.99], "eps": 1e-5}
LENGTHS = [[3, 17, 40, 9], [33, 34, 2], [64, 5, 5, 21, 12]]
AWAY = 1e-3  # f32 could move a ratio this close to the clip range to its other side


def draw(model, length, rng):
    """A row with log-probs near those of the policy; some of its ratios are outside of the clip range."""
    tokens = torch.randint(0, model.config.vocab_size, (length,), generator=rng)
    mask = [0] + [int(x) for x in torch.rand(length - 1, generator=rng) < 0.7]
    mask[-1] = 1
    advantages = [round(x, 4) for x in torch.randn(length, generator=rng).tolist()]
    with torch.no_grad():
        now = logprobs(model, tokens)
    old = [0.0]
    for lp, noise in zip(now.tolist(), (torch.randn(length - 1, generator=rng) * 0.2).tolist()):
        value = round(lp + noise, 6)
        while min(abs(torch.tensor(lp - value).exp().item() - edge) for edge in (0.8, 1.0, 1.2)) < AWAY:
            value = round(value + 0.01, 6)
        old.append(value)
    return {"tokens": tokens.tolist(), "mask": mask, "oldLogprobs": old, "advantages": advantages}


def logprobs(model, tokens):
    lp = torch.log_softmax(model(input_ids=tokens[None], use_cache=False).logits[0, :-1], -1)
    return lp.gather(-1, tokens[1:, None])[:, 0]


def step(model, optimizer, rows):
    surrogate, kl, clipped, count = 0.0, 0.0, 0.0, 0
    for row in rows:
        of = lambda name: torch.tensor(row[name])[1:]
        log_ratio = logprobs(model, torch.tensor(row["tokens"])) - of("oldLogprobs")
        ratio, mask, advantage = log_ratio.exp(), of("mask"), of("advantages")
        chosen = torch.minimum(ratio * advantage, ratio.clamp(1 - CONFIG["clip"], 1 + CONFIG["clip"]) * advantage)
        surrogate = surrogate + (chosen * mask).sum()
        kl += ((ratio - 1 - log_ratio) * mask).sum().item()
        clipped += (((ratio - 1).abs() > CONFIG["clip"]) * mask).sum().item()
        count += mask.sum().item()
    loss = -surrogate / count
    optimizer.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], CONFIG["maxGradNorm"])
    optimizer.step()
    return {"loss": loss.item(), "gradNorm": norm.item(), "approxKl": kl / count, "clipFraction": clipped / count, "tokens": count}


torch.set_num_threads(1)
base = transformers.AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32)
model = peft.PeftModel.from_pretrained(base, os.path.join(MODEL, "adapter"), is_trainable=True).float().eval()  # eval() switches dropout off
lora = {name.replace(".default", ""): p for name, p in model.named_parameters() if "lora_" in name}
optimizer = torch.optim.AdamW(
    lora.values(), lr=CONFIG["learningRate"], betas=CONFIG["betas"], eps=CONFIG["eps"], weight_decay=CONFIG["weightDecay"]
)
rng = torch.Generator().manual_seed(7)
steps, tensors = [], {}
for index, lengths in enumerate(LENGTHS):
    rows = [draw(model, length, rng) for length in lengths]
    steps.append({"rows": rows, "result": step(model, optimizer, rows)})
    tensors |= {f"{index}.{name}": p.detach().clone().contiguous() for name, p in lora.items()}
versions = {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__}
os.makedirs(OUT, exist_ok=True)
with open(os.path.join(OUT, "chain.json"), "w") as f:
    json.dump({"versions": versions, "config": CONFIG, "steps": steps}, f)
save_file(tensors, os.path.join(OUT, "chain.safetensors"), metadata=versions)
print(json.dumps([s["result"] for s in steps]))
