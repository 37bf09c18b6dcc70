#!/usr/bin/env python3
"""The same networks in plain PyTorch: an example of how to read our weights, and the yardstick for speed.

  torch_twin.py parity MODEL.safetensors CASE.safetensors [--tolerance 1e-3]
      runs MODEL (with its card MODEL.json beside it) on CASE's `beliefs` [batch, positions, symbols] and
      `evidence` [batch, positions] and compares with its `logits` [passes, batch, positions, symbols];
      `images` [n, 28, 28] with `image_logits` [n, symbols] where CASE has them
  torch_twin.py time {best,paper} [--batch 256] [--passes 12] [--width 96] [--device cuda] [--compile]
      training steps per second on 9x9 Sudoku: forward, loss on every pass, backward, clipping, AdamW

Prints one JSON document. The modules carry the parameter names of our files, so loading is load_state_dict.
"""

import argparse
import json
import math
import struct
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn


def attention(q, k, v, bias=None):
    if hasattr(F, "scaled_dot_product_attention"):  # PyTorch 2
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    return (scores if bias is None else scores + bias).softmax(-1) @ v


def load_safetensors(path):
    try:
        from safetensors.torch import load_file

        return load_file(path)
    except ImportError:
        pass
    data = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    dtypes = {"F32": torch.float32, "F64": torch.float64, "F16": torch.float16, "BF16": torch.bfloat16,
              "I64": torch.int64, "U8": torch.uint8, "BOOL": torch.bool}
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        raw = bytearray(data[8 + length + begin : 8 + length + end])
        flat = torch.frombuffer(raw, dtype=dtypes[entry["dtype"]]) if raw else torch.empty(0)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


class Structure(nn.Module):
    """Positions, groups and families of a program, as the card's field `program` lists them."""

    def __init__(self, program):
        super().__init__()
        domains, groups = program["domains"], [g for g in program["groups"] if g["positions"]]
        self.families, self.symbols, self.positions = len(program["families"]), program["symbols"], len(domains)
        self.group_counts = [sum(g["family"] == f for g in groups) for f in range(self.families)]
        self.all_different = all(g["all_different"] for g in groups)
        groups = sorted(groups, key=lambda g: g["family"])
        width = max(len(g["positions"]) for g in groups)
        members = torch.tensor([g["positions"] + g["positions"][:1] * (width - len(g["positions"])) for g in groups])
        real = torch.tensor([[k < len(g["positions"]) for k in range(width)] for g in groups])
        incidence = torch.zeros(len(groups), self.positions)
        relation = torch.zeros(self.families, self.positions, self.positions)
        for index, group in enumerate(groups):
            incidence[index, group["positions"]] = 1
            for i in group["positions"]:
                relation[group["family"], i, [j for j in group["positions"] if j != i]] = 1
        family = torch.tensor([g["family"] for g in groups])
        per_family = torch.stack([incidence[family == f].sum(0) for f in range(self.families)])
        gather = incidence.t() / per_family[family].t().clamp(min=1)
        mask = torch.arange(self.symbols)[None] < torch.tensor(domains)[:, None]
        for name, value in dict(members=members, real=real, incidence=incidence, relation=relation, family=family,
                                per_family=per_family, gather=gather, mask=mask).items():
            self.register_buffer(name, value, persistent=False)
        self.full = bool(mask.all())

    def leave_one_out(self, p):
        """Soft T_P without p itself, mean over a family's groups: [batch, families, positions, symbols]."""
        if not self.all_different:
            sys.exit("the twin's soft T_P knows all-different groups only")
        free = torch.log1p(-p.clamp(max=1 - 1e-7))[:, self.members] * self.real[None, :, :, None]
        others = torch.exp(free.sum(2, keepdim=True) - free) * self.real[None, :, :, None]
        batch, groups, width, symbols = others.shape
        target = (self.family[:, None] * self.positions + self.members).flatten()
        total = others.new_zeros(batch, self.families * self.positions, symbols)
        total = total.index_add(1, target, others.reshape(batch, groups * width, symbols))
        total = total.view(batch, self.families, self.positions, symbols)
        count = self.per_family[None, :, :, None]
        return torch.where(count > 0, total / count.clamp(min=1), torch.ones_like(total))


def normal_numbers(seed, count):
    """The first normal() numbers of src/random.h's Random(seed)."""
    mask = (1 << 64) - 1

    def scatter(x):
        x = (x + 0x9E3779B97F4A7C15) & mask
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & mask
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & mask
        return x ^ (x >> 31)

    def rotate(x, by):
        return (x << by | x >> (64 - by)) & mask

    x, state = scatter(seed) ^ scatter(mask), []
    for _ in range(4):
        x = scatter(x)
        state.append(x)

    def unit():
        result = rotate(state[1] * 5 & mask, 7) * 9 & mask
        shifted = state[1] << 17 & mask
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= shifted
        state[3] = rotate(state[3], 45)
        return (result >> 11) * 2.0**-53

    return [math.sqrt(-2 * math.log(1 - unit())) * math.cos(2 * math.pi * unit()) for _ in range(count)]


class SoftTpReasoner(nn.Module):
    """Preset `best`; the equations stand in src/nn/soft_tp_reasoner.cpp."""

    def __init__(self, o, structure):
        super().__init__()
        self.o, self.s = o, structure
        c, ff, families = o["width"], o["d_ff"], structure.families
        self.attention, self.pooling = o["mixing"] != "pooling", o["mixing"] != "attention"
        self.embed = nn.Linear(4 + (2 * families if o["tp_feedback"] else 0), c)
        self.norm_state = nn.LayerNorm(c)
        if self.attention:
            self.qkv, self.attention_out = nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.relation_bias = nn.Parameter(torch.zeros(o["heads"], families))
        if self.pooling:
            self.pool = nn.Parameter(torch.randn(families, c, 2 * c) * (2 * c) ** -0.5)
        self.norm_ff = nn.LayerNorm(c)
        self.ff_in = nn.Linear(c, ff)
        self.ff_mean, self.ff_max = nn.Linear(c, ff, bias=False), nn.Linear(c, ff, bias=False)
        self.ff_out = nn.Linear(ff, c)
        self.read = nn.Linear(c, 1, bias=False)
        self.evidence_scale = nn.Parameter(torch.ones(()))

    def start(self, beliefs):
        """The state of evaluation's first trajectory before its first pass."""
        if not self.o.get("state_noise"):
            return None
        (_, n, symbols), c = beliefs.shape, self.o["width"]
        drawn = torch.tensor(normal_numbers(0, symbols * n * c), device=beliefs.device)
        return drawn.view(1, symbols, n, c) * self.o["state_noise"]

    def mix(self, x):
        s, (batch, symbols, n, c) = self.s, x.shape
        rows, mixed = x.reshape(batch * symbols, n, c), x
        outside = None if s.full else ~s.mask.t()[:, :, None]
        if self.attention:
            heads = self.o["heads"]
            q, k, v = self.qkv(rows).view(-1, n, 3, heads, c // heads).permute(2, 0, 3, 1, 4)
            bias = (self.relation_bias @ s.relation.flatten(1)).view(1, heads, n, n)
            if outside is not None:
                bias = (bias - 1e4 * (~s.mask.t()).float().view(symbols, 1, 1, n)).repeat(batch, 1, 1, 1)
            bias = bias.to(q.dtype).expand(batch * symbols, -1, -1, -1)
            y = attention(q, k, v, bias)
            mixed = mixed + self.attention_out(y.transpose(1, 2).reshape(x.shape))
        if self.pooling:
            low = x if outside is None else x.masked_fill(outside, -1e4)
            zero = x if outside is None else x.masked_fill(outside, 0)
            count = s.mask.t().float() @ s.incidence.t()  # [symbols, groups]: members that have the symbol
            mean = (s.incidence @ zero) / count.clamp(min=1)[:, :, None]
            maximum = low.reshape(-1, n, c)[:, s.members].amax(2).view(batch, symbols, -1, c)
            if outside is not None:
                maximum = maximum.masked_fill((count == 0)[:, :, None], 0)
            pooled = torch.cat([mean.to(maximum.dtype), maximum], -1).split(s.group_counts, 2)
            message = torch.cat([part @ self.pool[f].t() for f, part in enumerate(pooled)], 2)
            mixed = mixed + s.gather @ message
        return mixed

    def feed_forward(self, x):
        h, s = self.norm_ff(x), self.s
        if s.full:
            mean, maximum = h.mean(1), h.amax(1)
        else:
            outside = ~s.mask.t()[:, :, None]
            mean = h.masked_fill(outside, 0).sum(1) / s.mask.sum(1)[:, None]
            maximum = h.masked_fill(outside, -1e4).amax(1)
        shared = self.ff_mean(mean) + self.ff_max(maximum)
        return x + self.ff_out(F.gelu(self.ff_in(h) + shared[:, None]))

    def forward(self, beliefs, evidence, passes):
        p, x, outputs = beliefs, self.start(beliefs), []
        log_evidence = beliefs.clamp(min=1e-6).log()
        given = [beliefs, log_evidence, evidence[:, :, None].expand_as(beliefs).float()]
        for _ in range(passes):
            features = torch.stack(given + [p], 1)
            if self.o["tp_feedback"]:
                with torch.autocast(p.device.type, enabled=False):
                    q = self.s.leave_one_out(p)
                    features = torch.cat([features, q, (q + 1e-3).log()], 1)
            embedded = self.embed(features.permute(0, 3, 2, 1))
            x = self.norm_state(embedded if x is None else x + embedded)
            x = self.feed_forward(self.mix(x))
            logits = self.read(x).squeeze(-1).transpose(1, 2).float() + self.evidence_scale * log_evidence
            logits = logits.masked_fill(~self.s.mask, float("-inf"))
            p = torch.softmax(logits, -1)
            outputs.append(logits)
        return outputs


class EncoderLayer(nn.Module):
    def __init__(self, o, families):
        super().__init__()
        d, self.heads, self.dropout = o["d_model"], o["heads"], o["dropout"]
        self.norm_attention, self.norm_ff = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ff_in, self.ff_out = nn.Linear(d, o["d_ff"]), nn.Linear(o["d_ff"], d)
        if o["placement"] == "relation":
            self.relation_bias = nn.Parameter(torch.zeros(self.heads, families))

    def forward(self, x, relation):
        batch, n, d = x.shape
        q, k, v = self.qkv(self.norm_attention(x)).view(batch, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        bias = None
        if hasattr(self, "relation_bias"):
            bias = (self.relation_bias @ relation.flatten(1)).view(1, self.heads, n, n).to(q.dtype)
        y = attention(q, k, v, bias).transpose(1, 2).reshape(batch, n, d)
        x = x + F.dropout(self.out(y), self.dropout, self.training)
        return x + F.dropout(self.ff_out(F.gelu(self.ff_in(self.norm_ff(x)))), self.dropout, self.training)


class Transformer(nn.Module):
    """Preset `paper`, without addition's pooled head."""

    def __init__(self, o, structure):
        super().__init__()
        if o["pooled"]:
            sys.exit("the twin has no pooled head")
        d, self.s, self.o = o["d_model"], structure, o
        self.project, self.head = nn.Linear(structure.symbols, d), nn.Linear(d, structure.symbols)
        self.tables = []
        if o["placement"] == "index":
            self.index = nn.Parameter(torch.randn(structure.positions, d) * 0.02)
        elif o["placement"] == "membership":
            for f, count in enumerate(structure.group_counts):
                if count:
                    self.register_parameter(f"membership_{f}", nn.Parameter(torch.randn(count, d) * 0.02))
                    self.tables.append(f)
        for layer in range(o["layers"]):
            self.add_module(f"layer_{layer}", EncoderLayer(o, structure.families))
        self.norm = nn.LayerNorm(d)

    def forward(self, beliefs, evidence, passes=1):
        given, at = beliefs, evidence.bool().unsqueeze(-1)
        if not self.training and self.o["clamp"]:
            certain = torch.zeros_like(given).scatter(-1, given.argmax(-1, keepdim=True), 1.0)
            beliefs = torch.where(at, certain, given)
        x = self.project(beliefs)
        if self.o["placement"] == "index":
            x = x + self.index
        for f in self.tables:
            x = x + self.s.incidence[self.s.family == f].t() @ getattr(self, f"membership_{f}")
        for layer in range(self.o["layers"]):
            x = getattr(self, f"layer_{layer}")(x, self.s.relation)
        logits = self.head(self.norm(x)).float()
        if not self.training and self.o["restore"]:
            logits = torch.where(at, given.clamp_min(1e-30).log(), logits)
        return [logits.masked_fill(~self.s.mask, float("-inf"))]


class Perception(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.convolutions, self.dropout, self.count, channels = o["convolutions"], o["dropout"], 0, 1
        for base in o["channels"]:
            for _ in range(o["convolutions"]):
                width = max(1, round(base * o["width"]))
                self.add_module(f"conv_{self.count}", nn.Conv2d(channels, width, 3, padding=1, bias=False))
                self.add_module(f"norm_{self.count}", nn.GroupNorm(1, width))
                self.count, channels = self.count + 1, width
        self.embed, self.head = nn.Linear(channels * 9, o["d_model"]), nn.Linear(o["d_model"], o["symbols"])
        self.register_buffer("temperature", torch.ones(()))

    def forward(self, images):
        x = images.view(-1, 1, 28, 28)
        for k in range(self.count):
            x = getattr(self, f"conv_{k}")(x)
            if (k + 1) % self.convolutions == 0:
                x = F.max_pool2d(x, 2)
            x = F.gelu(getattr(self, f"norm_{k}")(x))
        h = F.gelu(self.embed(x.flatten(1)))
        return self.head(F.dropout(h, self.dropout, self.training))


class Model(nn.Module):
    def __init__(self, options, program):
        super().__init__()
        if options["perception"]:
            self.perception = Perception(options["perception"])
        kinds = {"soft-tp": SoftTpReasoner, "transformer": Transformer}
        kind = options["reasoner"]["kind"]
        if kind in kinds:
            self.reasoner = kinds[kind](options["reasoner"], Structure(program))


def sudoku_program(box=3):
    n, groups = box * box, []
    for family in range(3):
        for g in range(n):
            cells = []
            for k in range(n):
                row = (g, k, g // box * box + k // box)[family]
                column = (k, g, g % box * box + k % box)[family]
                cells.append(row * n + column)
            groups.append({"family": family, "positions": sorted(cells), "all_different": True})
    return {"symbols": n, "families": ["rows", "columns", "boxes"], "domains": [n] * n * n, "groups": groups}


def parity(args):
    card = json.loads(args.model.with_suffix(".json").read_text())
    model = Model(card["model"], card["program"])
    weights = {name: value.float() for name, value in load_safetensors(args.model).items()}
    model.load_state_dict(weights)
    model.eval().to(args.device)
    case = {name: value.to(args.device) for name, value in load_safetensors(args.case).items()}
    result = {}
    with torch.no_grad():
        if "images" in case:
            result["images"] = (model.perception(case["images"]) - case["image_logits"]).abs().max().item()
        if "logits" in case:
            expected = case["logits"]
            ours = torch.stack(model.reasoner(case["beliefs"], case["evidence"], len(expected)))
            finite = expected.isfinite()
            if not torch.equal(finite, ours.isfinite()):
                sys.exit("the twin masks other symbols")
            result["logits"] = (ours - expected)[finite].abs().max().item()
    result["tolerance"] = args.tolerance
    result["same"] = bool(result.keys() - {"tolerance"}) and all(
        value <= args.tolerance for name, value in result.items() if name != "tolerance")
    print(json.dumps(result))
    return 0 if result["same"] else 1


def training_step(network, optimizer, beliefs, evidence, labels, passes, device):
    with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
        outputs = network(beliefs, evidence, passes)
    loss = sum(F.cross_entropy(logits.flatten(0, 1), labels.flatten()) for logits in outputs) / len(outputs)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()


def timing(args):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    structure = Structure(sudoku_program())
    if args.network == "best":
        options = dict(width=args.width, heads=4, d_ff=4 * args.width, mixing=args.mixing, tp_feedback=True)
        network, passes = SoftTpReasoner(options, structure), args.passes
    else:
        options = dict(layers=6, heads=8, d_model=256, d_ff=1024, dropout=0.1, placement="membership", pooled=False,
                       clamp=True, restore=True)
        network, passes = Transformer(options, structure), 1
    network = network.to(args.device).train()
    fused = dict(fused=True) if args.device == "cuda" else {}  # PyTorch 1 has no such argument
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, **fused)
    labels = torch.randint(0, 9, (args.batch, 81), device=args.device)
    evidence = torch.rand(args.batch, 81, device=args.device) < 0.4
    beliefs = torch.where(evidence[:, :, None], F.one_hot(labels, 9).float(), torch.full((), 1 / 9, device=args.device))
    run = torch.compile(network) if args.compile else network

    def steps(count):
        if args.device == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            training_step(run, optimizer, beliefs, evidence, labels, passes, args.device)
        if args.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    warm_up = steps(args.warm_up)
    seconds = min(steps(args.steps) for _ in range(3)) / args.steps
    print(json.dumps({"network": args.network, "mode": "compile" if args.compile else "eager", "batch": args.batch,
                      "passes": passes, "step_seconds": seconds, "boards_per_second": args.batch / seconds,
                      "warm_up_seconds": warm_up, "parameters": sum(p.numel() for p in network.parameters()),
                      "torch": torch.__version__}))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    p = verbs.add_parser("parity")
    p.add_argument("model", type=Path)
    p.add_argument("case", type=Path)
    p.add_argument("--tolerance", type=float, default=1e-3)
    p.add_argument("--device", default="cpu")
    p.set_defaults(run=parity)
    t = verbs.add_parser("time")
    t.add_argument("network", choices=["best", "paper"])
    t.add_argument("--batch", type=int, default=256)
    t.add_argument("--passes", type=int, default=12)
    t.add_argument("--width", type=int, default=96)
    t.add_argument("--mixing", choices=["attention", "pooling", "both"], default="pooling")
    t.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    t.add_argument("--steps", type=int, default=10)
    t.add_argument("--warm-up", type=int, default=3)
    t.add_argument("--compile", action="store_true")
    t.set_defaults(run=timing)
    args = parser.parse_args()
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
