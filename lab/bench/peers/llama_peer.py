"""Runs llama.cpp as a contender. One call of llama_decode steps all sequences."""

import ctypes
import os
import sys
import time

import llama_cpp as ll
import numpy as np
from protocol import serve

THREADS = int(sys.argv[1])
QUIET = ll.llama_log_callback(lambda *_: None)  # must stay alive, because the library keeps only a pointer to it


class State:
    model = None
    context = None
    made = None  # the context's (sequences, positions of each, unified)
    unified = {}  # (sequences, positions) -> the faster layout of the cache
    vocab = 0


def close_context():
    if State.context is not None:
        ll.llama_free(State.context)
    State.context = State.made = None


def open_model(request):
    close_context()
    if State.model is not None:
        ll.llama_model_free(State.model)
        State.model = None
    State.unified = {}
    path = os.path.join(request["model"], "model.gguf")
    State.model = ll.llama_model_load_from_file(path.encode(), ll.llama_model_default_params())
    if State.model is None:
        raise FileNotFoundError(f"llama.cpp cannot load {path}")
    State.vocab = ll.llama_vocab_n_tokens(ll.llama_model_get_vocab(State.model))
    return {}


def context(sequences, positions, unified):
    """Makes a context. Other parameters are llama.cpp's defaults: keys and values are stored in f16."""
    if State.made != (sequences, positions, unified):
        close_context()
        params = ll.llama_context_default_params()
        params.n_ctx = sequences * (-(-positions // 256) * 256)
        params.n_batch = max(512, sequences * positions)
        params.n_ubatch = 512
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = THREADS
        params.kv_unified = unified
        State.context = ll.llama_init_from_model(State.model, params)
        if State.context is None:
            raise MemoryError("llama.cpp cannot make a context")
        State.made = (sequences, positions, unified)
    return State.context


def put(batch, index, token, position, sequence, wanted):
    batch.token[index] = token
    batch.pos[index] = position
    batch.n_seq_id[index] = 1
    batch.seq_id[index][0] = sequence
    batch.logits[index] = wanted


def greedy(ctx, batch, rows):
    """Steps the batch and returns the most likely next token of each given row."""
    if ll.llama_decode(ctx, batch) != 0:
        raise RuntimeError("llama_decode failed")
    shape = (State.vocab,)
    return [int(np.ctypeslib.as_array(ll.llama_get_logits_ith(ctx, row), shape).argmax()) for row in rows]


def decode(job):
    """Chooses the faster cache layout: one cache for all sequences, or one per sequence."""
    prompts, new = job["prompts"], job["newTokens"]
    size = (len(prompts), len(prompts[0]) + new)
    if size not in State.unified:
        trials = {}
        for unified in (False, True):
            timed(prompts, min(new, 8), context(*size, unified))
            trials[unified] = timed(prompts, min(new, 8), State.context)["seconds"]
        State.unified[size] = min(trials, key=trials.get)
    return timed(prompts, new, context(*size, State.unified[size]))


def timed(prompts, new, ctx):
    count, length = len(prompts), len(prompts[0])
    batch = ll.llama_batch_init(count * length, 0, 1)
    try:
        start = time.perf_counter()
        ll.llama_memory_clear(ll.llama_get_memory(ctx), True)
        batch.n_tokens = count * length
        for s, prompt in enumerate(prompts):
            for p, token in enumerate(prompt):
                put(batch, s * length + p, token, p, s, p == length - 1)
        steps = [greedy(ctx, batch, [s * length + length - 1 for s in range(count)])]
        batch.n_tokens = count
        for position in range(length, length + new - 1):
            for s, token in enumerate(steps[-1]):
                put(batch, s, token, position, s, True)
            steps.append(greedy(ctx, batch, range(count)))
        seconds = time.perf_counter() - start
    finally:
        ll.llama_batch_free(batch)
    return {"seconds": seconds, "tokens": [list(row) for row in zip(*steps)]}


if __name__ == "__main__":
    ll.llama_log_set(QUIET, ctypes.c_void_p(0))
    ll.llama_backend_init()
    serve(
        {
            "hello": lambda _: {"llama-cpp-python": ll.__version__},
            "open": open_model,
            "run": lambda request: decode(request["job"]),
        }
    )
