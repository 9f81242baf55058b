"""torch, transformers and peft as a contender: the same work on the same tokens."""

import os
import sys
import time

import peft
import torch
import transformers
from protocol import serve

THREADS = int(sys.argv[1])
torch.set_num_threads(THREADS)
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


class State:
    folder = None
    kind = None  # of `model`: "base" or "adapter"
    model = None
    optimizer = None


def open_model(request):
    State.folder, State.kind, State.model, State.optimizer = request["model"], None, None, None
    return {}


def model(kind):
    """The base, or the base with its adapter. Only one of them is in memory."""
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


def token_logprobs(net, ids):
    """Uses cross_entropy, whose fused forward and backward pass is the fastest in torch."""
    logits = net(input_ids=ids, use_cache=False).logits[:, :-1]
    targets = ids[:, 1:]
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return -losses.view_as(targets)


def train(job):
    net = model("adapter")
    weights = [p for p in net.parameters() if p.requires_grad]
    if State.optimizer is None:
        # a tiny learning rate, so that every round trains the same weights
        State.optimizer = torch.optim.AdamW(weights, lr=1e-9, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
    ids = torch.tensor([row["tokens"] for row in job["rows"]])
    old, mask, advantages = (
        torch.tensor([row[name] for row in job["rows"]], dtype=torch.float32)[:, 1:]
        for name in ("oldLogprobs", "mask", "advantages")
    )
    start = time.perf_counter()
    ratio = torch.exp(token_logprobs(net, ids) - old)
    surrogate = torch.minimum(ratio * advantages, torch.clamp(ratio, 0.8, 1.2) * advantages)
    loss = -(surrogate * mask).sum() / mask.sum()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(weights, 1.0)
    State.optimizer.step()
    State.optimizer.zero_grad(set_to_none=True)
    return {"seconds": time.perf_counter() - start, "loss": loss.item()}


def score(job):
    net = model("adapter")
    ids = torch.tensor([row["tokens"] for row in job["rows"]])
    start = time.perf_counter()
    with torch.inference_mode():
        logprobs = token_logprobs(net, ids)
    return {"seconds": time.perf_counter() - start, "loss": -logprobs.mean().item()}


def decode(job):
    net = model("base")
    ids = torch.tensor(job["prompts"])
    new = job["newTokens"]
    start = time.perf_counter()
    with torch.inference_mode():
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
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "tokens": out[:, ids.shape[1] :].tolist()}


KINDS = {"train": train, "score": score, "decode": decode}
VERSIONS = {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__}

if __name__ == "__main__":
    serve(
        {
            "hello": lambda _: VERSIONS,
            "open": open_model,
            "run": lambda request: KINDS[request["job"]["kind"]](request["job"]),
        }
    )
