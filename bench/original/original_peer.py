"""The original project's trainer as a peer of `bench original`. It runs from its own checkout, unmodified.

    python original_peer.py CHECKOUT MODEL PROBLEMS MAX_NEW_TOKENS STAGE

Op `update` does one update of a role. Its result: seconds, sampled tokens, and whether the trainer updated at all.
Op `train` does updates of both roles in turn until `seconds` are over. Op `solve` returns a program for each problem.
"""

import os
import random
import sys
import tempfile
import time

checkout, model, problems_file, max_new_tokens, stage = sys.argv[1:6]
sys.path[:0] = [os.path.join(checkout, "5-stage-reasoning"), checkout, os.path.join(os.path.dirname(__file__), "../peers")]

from protocol import serve  # noqa: E402

sampled = 0


def counted(role):
    """Adds up the tokens that a role samples."""
    generate = role.model.generate

    def wrapped(*args, **kwargs):
        global sampled
        prompt = kwargs["input_ids"] if "input_ids" in kwargs else args[0]
        out = generate(*args, **kwargs)
        sampled += out.shape[-1] - prompt.shape[-1]
        return out

    role.model.generate = wrapped
    return role


def load(_):
    global trainer, problems
    import torch
    from data.problem_dataset import load_problems
    from models.discriminator import LLMDiscriminator
    from models.generator import LLMGenerator
    from training.adversarial_trainer import AdversarialTrainer
    from training.checkpoint_manager import CheckpointManager
    from training.config import TrainingConfig

    random.seed(0)
    torch.manual_seed(0)
    problems = load_problems(problems_file)
    os.chdir(tempfile.mkdtemp())  # for its logs and checkpoints
    config = TrainingConfig(generator_model=model, discriminator_model=model, max_new_tokens=int(max_new_tokens))
    roles = counted(LLMGenerator(model)), counted(LLMDiscriminator(model))
    trainer = AdversarialTrainer(*roles, config, CheckpointManager(), "log.json")
    return {}


def update(request):
    before, started = sampled, time.perf_counter()
    train = getattr(trainer, f"train_{request['role']}_epoch")
    metrics = train(int(stage), problems, 1)
    return {
        "seconds": time.perf_counter() - started,
        "tokens": sampled - before,
        "updated": metrics["num_updates"] > 0,
    }


def train(request):
    started, updates = time.perf_counter(), 0
    while time.perf_counter() - started < request["seconds"]:
        updates += sum(update({"role": role})["updated"] for role in ("discriminator", "generator"))
    return {"updates": updates, "seconds": time.perf_counter() - started}


def solve(request):
    from inference.inference_engine import InferenceEngine
    from sandbox.sandbox import Sandbox

    engine = InferenceEngine(trainer.generator, trainer.discriminator, Sandbox(timeout=5))
    sampling = {"max_new_tokens": int(max_new_tokens), "temperature": request["temperature"]}
    solved = (engine.solve_problem(one["description"], one["signature"], **sampling) for one in request["problems"])
    return [one.generated_code for one in solved]


serve({"load": load, "update": update, "train": train, "solve": solve})
