"""Runs torch, transformers and peft as a contender, with the same work on the same tokens."""

import os
import sys
import time

import peft
import torch
import transformers
from protocol import serve

THREADS = int(sys.argv[1])
TRAINED_ONLY = "trained" in sys.argv[2:]  # applies the output projection only to positions that predict a trained token
TOGETHER = 8  # the number of sequences of different lengths in a forward pass
GENERATED_TOGETHER = 32
torch.set_num_threads(THREADS)
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


class State:
    folder = None
    kind = None  # the kind of `model`: "base" or "adapter"
    model = None
    optimizer = None


def open_model(request):
    State.folder, State.kind, State.model, State.optimizer = request["model"], None, None, None
    return {}


def model(kind):
    """Opens the base, or the base with its adapter. Only one of them is in memory."""
    if State.kind != kind:
        State.model = State.optimizer = None
        base = transformers.AutoModelForCausalLM.from_pretrained(State.folder, dtype=torch.float32)
        if kind == "base":
            State.model = base.eval()
        else:
            adapter = os.path.join(State.folder, "adapter")
            State.model = peft.PeftModel.from_pretrained(base, adapter, is_trainable=True).train()
        State.kind = kind
    return State.model


def logprobs(net, ids, attention, mask):
    """The log-probs of the tokens whose mask is 1, as a flat list. torch computes cross_entropy fastest, because it is fused."""
    wanted = mask[:, 1:] > 0
    targets = ids[:, 1:][wanted]
    if TRAINED_ONLY:
        causal = net.get_base_model()
        hidden = causal.model(input_ids=ids, attention_mask=attention, use_cache=False).last_hidden_state
        logits = causal.lm_head(hidden[:, :-1][wanted])
    else:
        logits = net(input_ids=ids, attention_mask=attention, use_cache=False).logits[:, :-1][wanted]
    return -torch.nn.functional.cross_entropy(logits, targets, reduction="none")


def batches(rows):
    """Yields all rows at once if their lengths are equal, else a few rows of similar length, padded on the right."""
    lengths = {len(row["tokens"]) for row in rows}
    size = len(rows) if len(lengths) == 1 else TOGETHER
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]["tokens"]))
    for start in range(0, len(order), size):
        part = order[start : start + size]
        width = max(len(rows[i]["tokens"]) for i in part)

        def padded(name, dtype=torch.float32):
            values = [rows[i][name] for i in part]
            return torch.tensor([v + [0] * (width - len(v)) for v in values], dtype=dtype)

        attention = None
        if len(lengths) > 1:
            attention = torch.tensor([[1] * n + [0] * (width - n) for n in (len(rows[i]["tokens"]) for i in part)])
        yield part, padded, padded("tokens", torch.long), attention


def update(net, rows):
    """Computes the gradient of the clipped loss over all trained tokens, and makes one AdamW step. Returns the loss."""
    weights = [p for p in net.parameters() if p.requires_grad]
    if State.optimizer is None:
        # the learning rate is tiny, so that every round trains nearly the same weights
        State.optimizer = torch.optim.AdamW(weights, lr=1e-9, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
    tokens = sum(sum(row["mask"][1:]) for row in rows)
    total = 0.0
    for _, padded, ids, attention in batches(rows):
        mask = padded("mask")
        wanted = mask[:, 1:] > 0
        advantages = padded("advantages")[:, 1:][wanted]
        ratio = torch.exp(logprobs(net, ids, attention, mask) - padded("oldLogprobs")[:, 1:][wanted])
        surrogate = torch.minimum(ratio * advantages, torch.clamp(ratio, 0.8, 1.2) * advantages)
        loss = -surrogate.sum() / tokens
        loss.backward()
        total += loss.item()
    torch.nn.utils.clip_grad_norm_(weights, 1.0)
    State.optimizer.step()
    State.optimizer.zero_grad(set_to_none=True)
    return total


def train(job):
    net = model("adapter")
    start = time.perf_counter()
    loss = update(net, job["rows"])
    return {"seconds": time.perf_counter() - start, "loss": loss}


def score(job):
    net = model("adapter")
    ids = torch.tensor([row["tokens"] for row in job["rows"]])
    start = time.perf_counter()
    with torch.inference_mode():
        values = logprobs(net, ids, None, torch.ones_like(ids))
    return {"seconds": time.perf_counter() - start, "loss": -values.mean().item()}


def generate(net, prompts, new, end=None):
    """Decodes greedy answers, which include the end token. Prompts are padded on the left."""
    answers = []
    for start in range(0, len(prompts), GENERATED_TOGETHER):
        part = prompts[start : start + GENERATED_TOGETHER]
        width = max(map(len, part))
        out = net.generate(
            input_ids=torch.tensor([[0] * (width - len(p)) + p for p in part]),
            attention_mask=torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in part]),
            max_new_tokens=new,
            do_sample=False,
            use_cache=True,
            eos_token_id=end,
            pad_token_id=0,
        )
        for row in out[:, width:].tolist():
            ends = [i for i, token in enumerate(row) if end and token in end]
            answers.append(row[: ends[0] + 1] if ends else row)
    return answers


def step(job):
    net = model("adapter")
    parts = {}
    start = time.perf_counter()

    def lap(name):
        nonlocal start
        parts[name] = time.perf_counter() - start
        start = time.perf_counter()

    end = job["endTokens"]
    chains = [{"tokens": list(tokens), "mask": [0] * len(tokens)} for tokens in job["openings"]]
    answers = []
    net.eval()
    net.merge_adapter()
    with torch.inference_mode():
        for continuations in [None, *job["continuations"]]:
            for i, chain in enumerate(chains):
                kind = "ended" if chain["tokens"][-1] in end else "truncated"
                prompt = continuations[i][kind] if continuations else []
                chain["tokens"] += prompt
                chain["mask"] += [0] * len(prompt)
            sampled = generate(net, [chain["tokens"] for chain in chains], job["newTokens"], end)
            for chain, answer in zip(chains, sampled):
                chain["tokens"] += answer
                chain["mask"] += [1] * len(answer)
            answers += sampled
        lap("chains")
        answers += generate(net, job["tests"], job["testTokens"], end)
        lap("tests")
    net.unmerge_adapter()  # its time counts as scoring
    with torch.inference_mode():
        for part, padded, ids, attention in batches(chains):
            mask = padded("mask")
            values = torch.zeros_like(mask)
            values[:, 1:][mask[:, 1:] > 0] = logprobs(net, ids, attention, mask)
            for i, row in zip(part, values.tolist()):
                chains[i]["oldLogprobs"] = row[: len(chains[i]["tokens"])]
    lap("scoring")
    net.train()
    for chain, advantage in zip(chains, job["advantages"]):
        chain["advantages"] = [advantage] * len(chain["tokens"])
    update(net, chains)
    lap("update")
    scored = [value for chain in chains for value, m in zip(chain["oldLogprobs"], chain["mask"]) if m]
    return {"seconds": sum(parts.values()), "tokens": answers, "loss": -sum(scored) / len(scored), "parts": parts}


def decode(job):
    net = model("adapter" if job.get("adapter") else "base").eval()
    start = time.perf_counter()
    with torch.inference_mode():
        if job.get("adapter"):
            net.merge_adapter()
        ids = torch.tensor(job["prompts"])
        new = job["newTokens"]
        out = net.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=new,
            min_new_tokens=new,
            do_sample=False,
            use_cache=True,
            eos_token_id=None,
            pad_token_id=0,
        )
        if job.get("adapter"):
            net.unmerge_adapter()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "tokens": out[:, ids.shape[1] :].tolist()}


KINDS = {"train": train, "score": score, "decode": decode, "step": step}
VERSIONS = {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__}

if __name__ == "__main__":
    serve(
        {
            "hello": lambda _: VERSIONS,
            "open": open_model,
            "run": lambda request: KINDS[request["job"]["kind"]](request["job"]),
        }
    )
