"""Records what torch, transformers, peft and AdamW make of one policy update on random models of random shapes, as the
truth of test/ml/updates.ts.

    python record_updates.py OUT_FOLDER [SEED] [CASES]

Weights, adapter, tokens and optimizer state are not recorded: they follow from the seed by `uniform`, which the test
repeats. updates.json holds the shapes, the old log-probs and the numbers, updates.safetensors per case the gradient and
the step of every adapter entry, in the order of the layers.
"""
import json
import math
import random
import sys

import numpy
import peft
import torch
import transformers
from safetensors.torch import save_file
from streams import uniform

OUT, SEED, CASES = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 30
FAMILIES = ["Qwen2", "Qwen3", "Llama"]
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
AWAY = 1e-3  # f32 could move a ratio this close to the clip range to its other side


def draw(index):
    """A random shape, its update and its optimizer."""
    r = random.Random(SEED * 1000 + index)
    family = FAMILIES[index % 3]
    heads = r.choice([1, 2, 3, 4, 6])
    kv = r.choice([k for k in range(1, heads + 1) if heads % k == 0])
    head_dim = r.choice([2, 4, 6, 8, 10, 16])
    config = {
        "architectures": [f"{family}ForCausalLM"], "model_type": family.lower(), "hidden_size": heads * r.randint(3, 9),
        "num_hidden_layers": r.randint(1, 3), "num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": head_dim,
        "intermediate_size": r.randint(5, 40), "vocab_size": r.randint(11, 97), "max_position_embeddings": 128,
        "rms_norm_eps": r.choice([1e-6, 1e-5]), "rope_theta": r.choice([1e4, 5e5, 1e6]), "tie_word_embeddings": r.random() < 0.5,
        "hidden_act": "silu", "bos_token_id": None, "eos_token_id": 0, "pad_token_id": 0,
    }
    if family != "Qwen2":
        config["attention_bias"] = r.random() < 0.5
    if family == "Llama":
        config["mlp_bias"] = r.random() < 0.5
        if r.random() < 0.7:
            config["rope_scaling"] = {"rope_type": "llama3", "factor": r.choice([2.0, 8.0]), "low_freq_factor": 1.0,
                                      "high_freq_factor": 4.0, "original_max_position_embeddings": r.choice([16, 64])}
    return {
        "seed": SEED * 1000 + index, "config": config, "rank": r.randint(1, 5), "alpha": r.randint(1, 16),
        "lengths": [r.randint(2, 40) for _ in range(r.choice([1, 2, 3, 5, 11]))],
        "advantages": r.choice(["token", "token", "row"]),
        "clip": round(r.uniform(0.1, 0.3), 3), "temperature": r.choice([1, 1, 0.7]),
        "optimizer": {
            "learningRate": round(math.exp(r.uniform(math.log(3e-5), math.log(1e-2))), 7),
            "betas": [round(r.uniform(0.8, 0.95), 3), round(r.uniform(0.9, 0.999), 4)],
            "eps": r.choice([1e-8, 1e-6, 1e-5]), "weightDecay": r.choice([0, 0.01, 0.1]), "maxGradNorm": r.choice([0.05, 0.5, 1000]),
        },
        "steps": r.choice([0, 0, 7]),  # the number of updates that the optimizer has made before
    }


def fill(parameters, seed, scale, prefix=""):
    for name, p in parameters.items():
        values = uniform(seed, prefix + name, p.numel()) * scale + (1 if name.endswith("norm.weight") else 0)
        with torch.no_grad():
            p.copy_(torch.from_numpy(values.astype(numpy.float32)).reshape(p.shape))


def build(case):
    model_class = getattr(transformers, case["config"]["architectures"][0])
    config_class = getattr(transformers, case["config"]["architectures"][0].replace("ForCausalLM", "Config"))
    model = model_class(config_class(**case["config"])).float()
    fill(dict(model.named_parameters()), case["seed"], 0.6)
    tuned = peft.get_peft_model(
        model, peft.LoraConfig(r=case["rank"], lora_alpha=case["alpha"], lora_dropout=0.0, task_type="CAUSAL_LM", target_modules=TARGETS)
    )
    lora = {n.replace(".default", ""): p for n, p in tuned.named_parameters() if "lora_" in n}
    order = lambda name: (int(name.split(".layers.")[1].split(".")[0]), TARGETS.index(name.split(".")[-3]), name[-8])
    lora = {name: lora[name] for name in sorted(lora, key=order)}
    fill(lora, case["seed"], 0.5)
    return tuned, lora


def rows_of(case):
    for b, length in enumerate(case["lengths"]):
        stream = lambda name: uniform(case["seed"], f"row {b} {name}", length)
        tokens = numpy.floor((stream("tokens") + 0.5) * case["config"]["vocab_size"]).astype(int)
        mask = (stream("mask") < 0.2).astype(int)
        mask[-1] = 1  # at least one token is trained
        advantages = 4 * stream("advantages")
        if case["advantages"] == "row":
            advantages[:] = advantages[0]
        yield torch.from_numpy(tokens), torch.from_numpy(mask[1:]), torch.from_numpy(advantages[1:]), stream("old")[1:]


def update(case, tensors):
    model, lora = build(case)
    surrogate, kl, clipped, count, old_rows = 0.0, 0.0, 0.0, 0, []
    for tokens, mask, advantages, noise in rows_of(case):
        lp = torch.log_softmax(model(input_ids=tokens[None], use_cache=False).logits[0, :-1] / case["temperature"], -1)
        lp = lp.gather(-1, tokens[1:, None])[:, 0]
        old = []
        for new, shift in zip(lp.tolist(), noise.tolist()):
            value = round(new + 0.6 * shift, 5)
            while min(abs(abs(math.exp(new - value) - 1) - case["clip"]), abs(new - value)) < AWAY:
                value = round(value + 0.01, 5)
            old.append(value)
        old_rows.append([0, *old])
        log_ratio = lp - torch.tensor(old)
        ratio, a = log_ratio.exp(), advantages.float()
        chosen = torch.minimum(ratio * a, ratio.clamp(1 - case["clip"], 1 + case["clip"]) * a)
        surrogate = surrogate + (chosen * mask).sum()
        kl += ((ratio - 1 - log_ratio) * mask).sum().item()
        clipped += (((ratio - 1).abs() > case["clip"]) * mask).sum().item()
        count += mask.sum().item()
    loss = -surrogate / count
    loss.backward()
    o = case["optimizer"]
    optimizer = torch.optim.AdamW(lora.values(), lr=o["learningRate"], betas=o["betas"], eps=o["eps"], weight_decay=o["weightDecay"])
    before = {name: p.detach().clone() for name, p in lora.items()}
    flat = lambda values: torch.cat([v.detach().reshape(-1) for v in values]).clone()
    gradients = flat(p.grad for p in lora.values())
    norm = torch.nn.utils.clip_grad_norm_(lora.values(), o["maxGradNorm"]).item()
    # the size of a clipped gradient's entry, so that neither the past nor the present rules the moments
    scale = float(f"{min(norm, o['maxGradNorm']) / math.sqrt(gradients.numel()):.3g}")
    if case["steps"]:
        for name, p in lora.items():
            m = uniform(case["seed"], "m " + name, p.numel()) * 2 * scale
            v = (uniform(case["seed"], "v " + name, p.numel()) + 1) * scale * scale
            as_moment = lambda x: torch.from_numpy(x.astype(numpy.float32)).reshape(p.shape)
            optimizer.state[p] = {"step": torch.tensor(float(case["steps"])), "exp_avg": as_moment(m), "exp_avg_sq": as_moment(v)}
    optimizer.step()
    tensors[f"{case['seed']}.gradient"] = gradients
    tensors[f"{case['seed']}.step"] = flat(p.detach().double() - before[name].double() for name, p in lora.items()).float()
    return case | {"momentScale": scale, "oldLogprobs": old_rows, "loss": loss.item(), "gradNorm": norm, "approxKl": kl / count,
                   "clipFraction": clipped / count, "tokens": count}


torch.set_num_threads(1)
tensors = {}
cases = [update(draw(index), tensors) for index in range(CASES)]
versions = {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__}
with open(f"{OUT}/updates.json", "w") as f:
    json.dump({"versions": versions, "cases": cases}, f)
save_file(tensors, f"{OUT}/updates.safetensors", metadata=versions)
print(f"{len(cases)} updates recorded, {sum(t.numel() for t in tensors.values()) // 2} adapter entries, seed {SEED}")
