"""Records what torch, transformers and peft compute with the real weights of SmolLM2-135M-Instruct, as the truth of
test/ml/realWeights.test.ts.

    python record_smollm2.py MODEL OUT.json

MODEL is the folder that `npm run real-model` prints. The adapter, advantages and old log-probs follow from their names
(streams.py). Of gradient and step, the file holds the norm and a few entries of every adapter tensor.
"""
import json
import sys

import numpy
import peft
import torch
import transformers
from streams import uniform

MODEL, OUT = sys.argv[1:]
RANK, ALPHA, CLIP, RATE, NEW = 4, 8, 0.2, 1e-3, 24
ENTRIES = 3
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
LONG = "Read the list once, keep every value that occurs before, and say in one sentence what the function returns. " * 2
CONVERSATIONS = [
    (LONG + "What is the result for [3, 1, 3]?", " It returns [3], since 3 occurs twice."),
    (LONG + "What is the result for [3, 1, 3]?", " [3, 1]"),
    ("Übersetze „Größe“ → 大きさ 🙂 into English!", "\n\n\"Größe\" means size; 大きさ does, too. 🙂\n"),
]

torch.manual_seed(0)
tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
base = transformers.AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()


def opening(question):
    messages = [{"role": "user", "content": question}]
    return tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False)


def logprobs(net, tokens):
    ids = torch.tensor([tokens])
    lp = torch.log_softmax(net(input_ids=ids, use_cache=False).logits[0, :-1], -1)
    return lp.gather(-1, ids[0, 1:, None])[:, 0]


def greedy(net, tokens):
    ids = torch.tensor([tokens])
    out = net.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW, do_sample=False,
                       repetition_penalty=1.0, temperature=None, top_p=None, top_k=None, pad_token_id=0)
    return out[0, len(tokens):].tolist()


rows = []
for question, answer in CONVERSATIONS:
    prompt = opening(question)
    tokens = prompt + tokenizer.encode(answer, add_special_tokens=False)
    rows.append({"prompt": prompt, "tokens": tokens})
with torch.no_grad():
    for row in rows:
        row["base"] = [0, *logprobs(base, row["tokens"]).tolist()]
        row["greedyBase"] = greedy(base, row["prompt"])

tuned = peft.get_peft_model(base, peft.LoraConfig(r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, target_modules=TARGETS, task_type="CAUSAL_LM"))
lora = {n.replace(".default", ""): p for n, p in tuned.named_parameters() if "lora_" in n}
for name, p in lora.items():
    scale = 0.1 if "lora_A" in name else 0.04
    with torch.no_grad():
        p.copy_(torch.from_numpy((uniform(1, name, p.numel()) * scale).astype(numpy.float32)).reshape(p.shape))
total, count = 0.0, 0
for b, row in enumerate(rows):
    with torch.no_grad():
        row["tuned"] = [0, *logprobs(tuned, row["tokens"]).tolist()]
        row["greedyTuned"] = greedy(tuned, row["prompt"])
    length, start = len(row["tokens"]), len(row["prompt"])
    row["advantages"] = [round(4 * x, 4) for x in uniform(1, f"row {b} advantages", length)]
    row["oldLogprobs"] = [round(x + 0.1 * y, 4) for x, y in zip(row["tuned"], uniform(1, f"row {b} old", length))]
    new = logprobs(tuned, row["tokens"])[start - 1:]
    ratio = (new - torch.tensor(row["oldLogprobs"][start:])).exp()
    advantages = torch.tensor(row["advantages"][start:])
    total = total + torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages).sum()
    count += length - start
loss = -total / count
loss.backward()
gradients = {name: p.grad.detach().clone().reshape(-1) for name, p in lora.items()}
before = {name: p.detach().clone().reshape(-1) for name, p in lora.items()}
optimizer = torch.optim.AdamW(lora.values(), lr=RATE, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
norm = torch.nn.utils.clip_grad_norm_(lora.values(), 1e9).item()
optimizer.step()
tensors = {}
for name, p in lora.items():
    g, step = gradients[name], p.detach().reshape(-1) - before[name]
    at = g.abs().topk(ENTRIES).indices.sort().values.tolist()  # rounding changes no sign, and so no step, of the largest entries
    tensors[name] = {"norm": g.norm().item(), "at": at, "gradient": g[at].tolist(), "step": step[at].tolist()}
versions = {m.__name__: m.__version__ for m in (torch, transformers, peft)}
record = {"rank": RANK, "alpha": ALPHA, "clip": CLIP, "learningRate": RATE, "versions": versions, "rows": rows,
          "loss": loss.item(), "gradNorm": norm, "tensors": tensors}
with open(OUT, "w") as file:
    json.dump(record, file)
    file.write("\n")
