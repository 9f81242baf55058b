"""A rollout server on transformers and peft, with the routes of vLLM that gauntlet uses. It serves one base on loopback:

    python transformersServer.py MODEL [PORT]

Requests for the same adapter are answered as one batch. It is for tests and small models: every token reads the whole batch.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, DynamicCache

BATCH = 64
WAIT_SECONDS = 0.05  # for more requests


class Sampler(threading.Thread):
    def __init__(self, path):
        super().__init__(daemon=True)
        self.base = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        self.model = None  # with adapters
        self.names = set()
        self.lock = threading.Lock()
        self.queue = Queue()

    def load(self, name, path):
        with self.lock:
            if name in self.names:
                return 400, f"The lora adapter '{name}' has already been loaded."
            if self.model is None:
                self.model = PeftModel.from_pretrained(self.base, path, adapter_name=name).eval()
            else:
                self.model.load_adapter(path, adapter_name=name)
            self.names.add(name)
            return 200, "loaded"

    def unload(self, name):
        with self.lock:
            if name not in self.names:
                return 404, f"The lora adapter '{name}' cannot be found."
            self.names.remove(name)
            self.model.delete_adapter(name)
            return 200, "removed"

    def run(self):
        waiting = []
        while True:
            waiting.append(self.queue.get())
            threading.Event().wait(WAIT_SECONDS)
            while not self.queue.empty():
                waiting.append(self.queue.get())
            while waiting:
                model, temperature = waiting[0][0]["model"], waiting[0][0]["temperature"]
                own = [w for w in waiting if w[0]["model"] == model and w[0]["temperature"] == temperature][:BATCH]
                waiting = [w for w in waiting if all(w is not other for other in own)]
                with self.lock:
                    known = model in self.names
                    answers = self.sample(model, [body for body, _ in own]) if known else [None] * len(own)
                for (_, reply), answer in zip(own, answers):
                    reply.put(answer)

    @torch.inference_mode()
    def sample(self, name, bodies):
        self.model.set_adapter(name)
        prompts = [body["prompt"] for body in bodies]
        width = max(map(len, prompts))
        padding = [width - len(prompt) for prompt in prompts]
        ids = torch.tensor([[0] * pad + prompt for pad, prompt in zip(padding, prompts)])
        mask = torch.tensor([[0] * pad + [1] * len(prompt) for pad, prompt in zip(padding, prompts)])
        position = (mask.cumsum(1) - 1).clamp(min=0)
        random = [torch.Generator().manual_seed(body["seed"]) for body in bodies]
        cache = DynamicCache(config=self.base.config)
        tokens, logprobs = [[] for _ in bodies], [[] for _ in bodies]
        running = set(range(len(bodies)))
        while running:
            logits = self.model(
                input_ids=ids, attention_mask=mask, position_ids=position, past_key_values=cache, use_cache=True
            ).logits[:, -1]
            scores = (logits / bodies[0]["temperature"]).log_softmax(-1)
            drawn = torch.zeros(len(bodies), 1, dtype=torch.long)
            for i in list(running):
                drawn[i] = torch.multinomial(scores[i].exp(), 1, generator=random[i])
                token = int(drawn[i])
                tokens[i].append(token)
                logprobs[i].append(float(scores[i, token]))
                if token in bodies[i]["stop_token_ids"] or len(tokens[i]) == bodies[i]["max_tokens"]:
                    running.remove(i)
            ids, position = drawn, position[:, -1:] + 1
            mask = torch.cat([mask, torch.ones(len(bodies), 1, dtype=mask.dtype)], 1)
        return [
            {
                "model": name,
                "choices": [
                    {
                        "finish_reason": "stop" if row[-1] in body["stop_token_ids"] else "length",
                        "prompt_token_ids": body["prompt"],
                        "token_ids": row,
                        "logprobs": {"token_logprobs": scores},
                    }
                ],
            }
            for body, row, scores in zip(bodies, tokens, logprobs)
        ]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/v1/load_lora_adapter":
            return self.send(*sampler.load(body["lora_name"], body["lora_path"]))
        if self.path == "/v1/unload_lora_adapter":
            return self.send(*sampler.unload(body["lora_name"]))
        if self.path != "/v1/completions":
            return self.send(404, "no such route")
        reply = Queue()
        sampler.queue.put((body, reply))
        answer = reply.get()
        if answer is None:
            return self.send(404, f"The model `{body['model']}` does not exist.")
        self.send(200, answer)

    def send(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 1024  # connections that are not accepted yet; with the default of 5, most of a batch wait for seconds


if __name__ == "__main__":
    torch.set_num_threads(1)
    sampler = Sampler(sys.argv[1])
    sampler.start()
    server = Server(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
