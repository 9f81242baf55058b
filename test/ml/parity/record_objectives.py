"""Records what torch and peft compute for the further terms of the loss, as the truth that test/ml/objectives.test.ts
holds the engine against: the model, rows and LoRA of recorded.safetensors, a value head on the last hidden state, and for
each case the loss, the statistics and the gradient of every LoRA and value-head tensor; and learning rates of torch's
schedulers.

    python record_objectives.py recorded.safetensors OUT.safetensors
"""
import sys

import peft
import torch
import transformers
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR
from transformers import Qwen2Config, Qwen2ForCausalLM

LAYERS, HIDDEN, HEADS, KV, FFN, VOCAB = 2, 32, 4, 2, 48, 61
RANK, ALPHA, CLIP, CLIP_HIGH, TEMPERATURE = 4, 8, 0.2, 0.35, 0.8
ENTROPY, KL, VALUE, VALUE_CLIP = 0.05, 0.3, 0.6, 0.25

torch.manual_seed(5)
torch.use_deterministic_algorithms(True)
recorded = load_file(sys.argv[1])
ids, mask, old = recorded["ids"].long(), recorded["mask"], recorded["old"]
B, T = ids.shape

model = Qwen2ForCausalLM(
    Qwen2Config(
        vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=FFN, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=KV, max_position_embeddings=64, rope_theta=10000.0,
        tie_word_embeddings=True, rms_norm_eps=1e-6,
    )
).float()
with torch.no_grad():
    for name, p in model.named_parameters():
        p.copy_(recorded["base." + name])


def logprobs(logits):
    return torch.log_softmax(logits[:, :-1] / TEMPERATURE, -1)


def chosen(all_logprobs):
    return all_logprobs.gather(-1, ids[:, 1:, None])[..., 0]


with torch.no_grad():
    reference = chosen(logprobs(model(input_ids=ids, use_cache=False).logits))

tuned = get_peft_model(
    model,
    LoraConfig(
        r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, task_type="CAUSAL_LM",
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    ),
)
trained = {n.replace(".default", ""): p for n, p in tuned.named_parameters() if "lora_" in n}
with torch.no_grad():
    for name, p in trained.items():
        p.copy_(recorded["lora." + name])
head = torch.nn.Linear(HIDDEN, 1)
with torch.no_grad():
    head.weight.normal_(0, 0.1)
    head.bias.fill_(0.3)
trained |= {"v_head.summary.weight": head.weight, "v_head.summary.bias": head.bias}


def padded(x):  # entry t belongs to token t
    return torch.cat([torch.zeros(B, 1), x], 1)


advantages = torch.randn(B, T - 1)
returns = torch.randn(B, T - 1) * 0.7 + 0.4
old_values = torch.randn(B, T - 1) * 0.5
tensors = {
    "reference": padded(reference), "advantages": padded(advantages), "returns": padded(returns),
    "oldValues": padded(old_values), "v_head.summary.weight": head.weight.detach().clone(),
    "v_head.summary.bias": head.bias.detach().clone(),
}
m = mask[:, 1:]


def mean(x, average):
    """The mean over all trained tokens, or over the means of sequences."""
    if average == "token":
        return (x * m).sum() / m.sum()
    return ((x * m).sum(1) / m.sum(1)).mean()


def record(case, average, entropy_bonus=0.0, kl_coefficient=0.0, value_coefficient=0.0, value_clip=None):
    for p in trained.values():
        p.grad = None
    out = tuned(input_ids=ids, use_cache=False, output_hidden_states=True)
    everything = logprobs(out.logits)
    lp = chosen(everything)
    entropy = torch.distributions.Categorical(logits=everything).entropy()
    value = head(out.hidden_states[-1])[:, :-1, 0]
    ratio = torch.exp(lp - old[:, 1:])
    policy = -torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP_HIGH) * advantages)
    away = reference - lp
    kl = torch.exp(away) - away - 1
    value_loss = (value - returns) ** 2
    moved = torch.zeros_like(value)
    if value_clip is not None:
        kept = old_values + (value - old_values).clamp(-value_clip, value_clip)
        value_loss = torch.max(value_loss, (kept - returns) ** 2)
        moved = ((value - old_values).abs() > value_clip).float()
    value_loss = 0.5 * value_loss
    loss = mean(policy - entropy_bonus * entropy + kl_coefficient * kl + value_coefficient * value_loss, average)
    loss.backward()
    clipped = ((ratio < 1 - CLIP) | (ratio > 1 + CLIP_HIGH)).float()
    chose = m.bool()
    explained = 1 - (returns - value)[chose].var(correction=0) / returns[chose].var(correction=0)
    statistics = [loss, explained] + [mean(x, "token") for x in (policy, entropy, kl, value_loss, moved, clipped)]
    tensors[case + ".statistics"] = torch.stack(statistics).detach()
    tensors[case + ".values"] = padded(value.detach())
    for name, p in trained.items():
        tensors[f"{case}.grad.{name}"] = torch.zeros_like(p) if p.grad is None else p.grad.clone()


record("clip", "token")
record("sequence", "sequence", entropy_bonus=ENTROPY, kl_coefficient=KL)
record("value", "token", value_coefficient=VALUE)
record("all", "sequence", ENTROPY, KL, VALUE, VALUE_CLIP)


def rates(make, steps):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = make(optimizer)
    out = []
    for _ in range(steps):
        out.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return torch.tensor(out, dtype=torch.float32)


STEPS, WARMUP, FINAL = 12, 4, 0.1
warmup = rates(lambda o: LinearLR(o, start_factor=1 / WARMUP, end_factor=1.0, total_iters=WARMUP - 1), STEPS)
tensors["rates.constant"] = warmup
tensors["rates.linear"] = warmup * rates(lambda o: LinearLR(o, start_factor=1.0, end_factor=FINAL, total_iters=STEPS), STEPS)
tensors["rates.cosine"] = warmup * rates(lambda o: CosineAnnealingLR(o, T_max=STEPS, eta_min=FINAL), STEPS)

save_file(
    {k: v.contiguous() for k, v in tensors.items()},
    sys.argv[2],
    metadata={"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__},
)
print(f"{sys.argv[2]}: {sum(v.numel() for v in tensors.values()) * 4} bytes")
