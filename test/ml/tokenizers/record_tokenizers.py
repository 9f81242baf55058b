"""Records how the tokenizers library, which transformers uses, encodes and decodes the strings of strings.ts.

npm run build && CI=1 npx mocha dist/test/ml/tokenizers/tokenizers.system.test.js (installs the tokenizers), npm run real-model,
pip install tokenizers==0.23.3, then: python record_tokenizers.py NAME=tokenizer.json ...   (writes recorded.json)
One digest stands for 100 strings: of their ids and of the text that the ids decode to.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from tokenizers import Tokenizer

HERE = Path(__file__).parent
BLOCK = 100


def main() -> None:
    built = HERE.parents[2] / "dist/test/ml/tokenizers/strings.js"
    lines = subprocess.run(["node", built], check=True, capture_output=True, text=True, encoding="utf-8").stdout
    texts = [json.loads(line) for line in lines.split("\n") if line]
    recorded = {}
    for argument in sys.argv[1:]:
        name, path = argument.split("=", 1)
        tokenizer = Tokenizer.from_file(path)
        digests = []
        for start in range(0, len(texts), BLOCK):
            digest = hashlib.sha256()
            for text in texts[start : start + BLOCK]:
                ids = tokenizer.encode(text, add_special_tokens=False).ids
                decoded = tokenizer.decode(ids, skip_special_tokens=False)
                digest.update(json.dumps([ids, decoded], ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            digests.append(digest.hexdigest()[:16])
        recorded[name] = digests
    rows = [f" {json.dumps(name)}: {json.dumps(digests)}" for name, digests in recorded.items()]
    (HERE / "recorded.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
