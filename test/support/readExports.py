"""Reads an export of `gauntlet export` with the reader of the other tool and prints what it found as JSON.

Usage: readExports.py jsonl|tensorboard|inspect PATH
"""
import json
import sys
from pathlib import Path


def jsonl(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def tensorboard(path):
    from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
    from tensorboard.backend.event_processing.event_accumulator import STORE_EVERYTHING_SIZE_GUIDANCE

    events = EventMultiplexer(size_guidance=STORE_EVERYTHING_SIZE_GUIDANCE).AddRunsFromDirectory(path)
    events.Reload()
    found = {}
    for run in events.Runs():
        one = events.GetAccumulator(run)
        found[run] = {
            "scalars": {
                tag: [[event.wall_time, event.step, event.value] for event in one.Scalars(tag)]
                for tag in one.Tags()["scalars"]
            },
            "texts": {
                tag: [event.tensor_proto.string_val[0].decode() for event in one.Tensors(tag)]
                for tag in one.PluginTagToContent("text")
            } if one.Tags()["tensors"] else {},
        }
    return found


def inspect(path):
    from inspect_ai.log import list_eval_logs, read_eval_log

    logs = []
    for info in list_eval_logs(path):
        log = read_eval_log(info)
        logs.append({
            "model": log.eval.model,
            "status": log.status,
            "metrics": {name: one.value for name, one in log.results.scores[0].metrics.items()},
            "samples": [
                {
                    "id": sample.id,
                    "epoch": sample.epoch,
                    "roles": [message.role for message in sample.messages],
                    "completion": sample.output.completion,
                    "score": sample.scores["hidden_tests"].value,
                    "answer": sample.scores["hidden_tests"].answer,
                }
                for sample in log.samples
            ],
        })
    return logs


READERS = {"jsonl": jsonl, "tensorboard": tensorboard, "inspect": inspect}

json.dump(READERS[sys.argv[1]](sys.argv[2]), sys.stdout)
