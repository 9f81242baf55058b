"""Records what torch, transformers and peft compute on a small random Qwen2, as the truth that test/ml/parity.test.ts
holds the engine against: logits, log-probs, clipped-PPO loss and LoRA gradients at a temperature, full-parameter
cross-entropy gradients, greedy tokens, one AdamW step after clipping.

    python record.py OUT.safetensors        (versions are kept in the file's metadata; tolerances in the test)
"""
import sys

import peft
import torch
import transformers
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import Qwen2Config, Qwen2ForCausalLM

LAYERS, HIDDEN, HEADS, KV, FFN, VOCAB = 2, 32, 4, 2, 48, 61
B, T, RANK, ALPHA, CLIP, TEMPERATURE = 3, 17, 4, 8, 0.2, 0.8
LR, BETAS, EPS, DECAY, MAX_NORM = 1e-3, (0.9, 0.99), 1e-8, 0.01, 0.5

torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
tensors = {}


def base(tied):
    torch.manual_seed(11)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=FFN, num_hidden_layers=LAYERS,
            num_attention_heads=HEADS, num_key_value_heads=KV, max_position_embeddings=64, rope_theta=10000.0,
            tie_word_embeddings=tied, rms_norm_eps=1e-6,
        )
    ).float()
    with torch.no_grad():  # the values are far from the initial ones, so that no term vanishes
        for name, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * 0.2 + (1.0 if "norm" in name else 0.0))
    return model


def supervised(model, ids, mask, prefix):
    logits = model(input_ids=ids, use_cache=False).logits
    lp = torch.log_softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None])[..., 0]
    loss = -(lp * mask[:, 1:]).sum()
    loss.backward()
    tensors[prefix + "loss"] = loss.detach().reshape(1)
    for name, p in model.named_parameters():
        tensors[prefix + "grad." + name] = p.grad.clone()
    model.zero_grad()


ids = torch.randint(0, VOCAB, (B, T))
mask = (torch.rand(B, T) > 0.3).float()
mask[:, 0] = 0
advantage = torch.tensor([1.3, -0.7, 0.4])
tensors |= {"ids": ids.float(), "mask": mask, "advantage": advantage}

untied = base(False)
for name, p in untied.named_parameters():
    if name == "lm_head.weight":
        tensors["untied.lm_head.weight"] = p.detach().clone()
supervised(untied, ids, mask, "untied.sft.")

model = base(True)
for name, p in model.named_parameters():
    tensors["base." + name] = p.detach().clone()
with torch.no_grad():  # the untied model differs only in its output projection
    for name, p in untied.named_parameters():
        if name != "lm_head.weight":
            assert torch.equal(p, tensors["base." + name]), name
supervised(model, ids, mask, "sft.")
tensors["logits"] = model(input_ids=ids, use_cache=False).logits.detach()
tensors["greedy"] = model.generate(ids[:, :5], attention_mask=torch.ones(B, 5), max_new_tokens=12, do_sample=False, pad_token_id=0, eos_token_id=None).float()

tuned = get_peft_model(
    model,
    LoraConfig(
        r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, task_type="CAUSAL_LM",
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    ),
)
lora = {n.replace(".default", ""): p for n, p in tuned.named_parameters() if "lora_" in n}
with torch.no_grad():
    for p in lora.values():
        p.normal_(0, 0.15)
for name, p in lora.items():
    tensors["lora." + name] = p.detach().clone()

logits = tuned(input_ids=ids, use_cache=False).logits
lp = torch.log_softmax(logits[:, :-1] / TEMPERATURE, -1).gather(-1, ids[:, 1:, None])[..., 0]
old = torch.zeros(B, T)
old[:, 1:] = lp.detach() + 0.3 * torch.randn(B, T - 1)
tensors["old"] = old
ratio = torch.exp(lp - old[:, 1:])
a, m = advantage[:, None], mask[:, 1:]
surrogate = torch.minimum(ratio * a, ratio.clamp(1 - CLIP, 1 + CLIP) * a)
loss = -(surrogate * m).sum()
loss.backward()
tensors["ppo.logprobs"] = lp.detach()
clipped = ((ratio - 1).abs() > CLIP).float()
tensors["ppo.sums"] = torch.stack(
    [loss, (ratio * m).sum(), ((ratio - 1 - (lp - old[:, 1:])) * m).sum(), (clipped * m).sum(), -(lp * m).sum(), m.sum()]
).detach()
for name, p in lora.items():
    tensors["ppo.grad." + name] = p.grad.clone()

optimizer = torch.optim.AdamW(lora.values(), lr=LR, betas=BETAS, eps=EPS, weight_decay=DECAY)
for step in (1, 2):  # the gradient is the same in both steps: the second one sees moments that are not zero
    for name, p in lora.items():
        p.grad = tensors["ppo.grad." + name] / m.sum()
    norm = torch.nn.utils.clip_grad_norm_(lora.values(), MAX_NORM)
    optimizer.step()
    tensors[f"adamw{step}.norm"] = norm.reshape(1)
    for name, p in lora.items():
        tensors[f"adamw{step}." + name] = p.detach().clone()

save_file(
    {k: v.contiguous() for k, v in tensors.items()},
    sys.argv[1],
    metadata={"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__},
)
print(f"{sys.argv[1]}: {sum(v.numel() for v in tensors.values()) * 4} bytes, loss {loss.item():.6f}")
