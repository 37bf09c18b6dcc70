"""The mean of two networks' reasoners, for weights that were trained on from the same start.

    ./as2 python bench/average.py OUT.safetensors A.safetensors B.safetensors SHARE

The reasoner is (1 - SHARE) * A + SHARE * B; everything else, perception and card included, is A's. What A's card
says of its own training and validation moves under `averaged`, beside what B's card says. Both have to take means over
the same sizes, which is not checked: B trained on from A does, on boards of any size.
"""

import hashlib
import json
import math
import pathlib
import shutil
import struct
import sys

import numpy

FREE_FIELDS = ("seed", "trained", "validation", "measured", "data")


def read(path):
    """The header of a safetensors file, and its tensors' bytes."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :], content[: 8 + length]


def values(header, tensors, name):
    entry = header[name]
    if entry["dtype"] != "F32":
        sys.exit(f"{name} is {entry['dtype']}, and only F32 is averaged here")
    begin, end = entry["data_offsets"]
    return numpy.frombuffer(tensors[begin:end], numpy.float32), (begin, end)


if len(sys.argv) != 5:
    sys.exit(__doc__)
out, first, second = (pathlib.Path(name) for name in sys.argv[1:4])
try:
    share = float(sys.argv[4])
except ValueError:
    share = math.nan
if not 0 <= share <= 1:
    sys.exit(f"SHARE is {sys.argv[4]}, expected a number from 0 to 1")
if out.resolve() in (first.resolve(), second.resolve()):
    sys.exit(f"{out} would replace one of the two: give OUT another name")
try:
    header, tensors, head = read(first)
    other_header, other_tensors, _ = read(second)
    cards = [json.loads(path.with_suffix(".json").read_text()) for path in (first, second)]
except (OSError, ValueError, struct.error) as error:
    sys.exit(f"{error}: A and B are .safetensors files, each with its card, a .json file of the same name, beside it")
names = [name for name in header if name.startswith("reasoner.")]
shapes = [{name: h[name]["shape"] for name in h if name.startswith("reasoner.")} for h in (header, other_header)]
if not names or shapes[0] != shapes[1]:
    sys.exit(f"{first} and {second} do not have the same reasoner")
mean = bytearray(tensors)
for name in names:
    mine, (begin, end) = values(header, tensors, name)
    theirs, _ = values(other_header, other_tensors, name)
    mean[begin:end] = ((1 - share) * mine + share * theirs).astype(numpy.float32).tobytes()
out.write_bytes(head + mean)

card = {name: value for name, value in cards[0].items() if name not in FREE_FIELDS}
card["data"] = {"source": cards[0]["data"]["source"]}
card["averaged"] = [
    {"share": part, **{name: own[name] for name in FREE_FIELDS if name in own}}
    for part, own in zip((1 - share, share), cards)
]
card["weights"] = {"sha256": hashlib.sha256(out.read_bytes()).hexdigest()}
out.with_suffix(".json").write_text(json.dumps(card, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
shutil.copyfile(first.with_suffix(".toml"), out.with_suffix(".toml"))
