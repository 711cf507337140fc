"""PyTorch's side of a comparison; speaks the lines of side.h. Options: --device D, --threads N, --cpp.

With --cpp the loop around an op is C++ too, compiled at the first start (a minute), so that Python's part of a call is
not held against PyTorch."""
import argparse
import statistics
import sys
import time

try:
    import torch
except ImportError as error:
    print(f"cannot: {sys.executable}: {error}", flush=True)
    sys.exit(1)

CASES = ("matmul", "conv2d", "max_pool2d", "avg_pool2d", "add", "neg", "copy", "train_step", "generate")

# Of two matrices and the columns that gather and scatter_add name.
MATRIX_OPS = {
    "fmod": lambda a, b, ids: torch.fmod(a, b),
    "remainder": lambda a, b, ids: torch.remainder(a, b),
    "gelu": lambda a, b, ids: torch.nn.functional.gelu(a),
    "silu": lambda a, b, ids: torch.nn.functional.silu(a),
    "erf": lambda a, b, ids: torch.erf(a),
    "erfc": lambda a, b, ids: torch.erfc(a),
    "transpose": lambda a, b, ids: a.t().contiguous(),
    "norm": lambda a, b, ids: torch.linalg.vector_norm(a),
    "sum": lambda a, b, ids: a.sum(-1),
    "logsumexp": lambda a, b, ids: torch.logsumexp(a, -1),
    "gather": lambda a, b, ids: torch.gather(a, -1, ids),
    "scatter_add": lambda a, b, ids: torch.scatter_add(a, -1, ids, b),
}

LOOP = """
#include <torch/extension.h>
void loop(const std::string& name, const at::Tensor& a, const at::Tensor& b, int64_t calls) {
  c10::InferenceMode no_tape;
  if (name == "matmul") for (int64_t i = 0; i < calls; i++) at::matmul(a, b);
  else if (name == "add") for (int64_t i = 0; i < calls; i++) at::add(a, b);
  else if (name == "conv2d") for (int64_t i = 0; i < calls; i++) at::conv2d(a, b, {}, 1, 1);
  else if (name == "max_pool2d") for (int64_t i = 0; i < calls; i++) at::max_pool2d(a, 3, 2, 1);
  else if (name == "avg_pool2d") for (int64_t i = 0; i < calls; i++) at::avg_pool2d(a, 3, 2, 1);
  else if (name == "neg") for (int64_t i = 0; i < calls; i++) at::neg(a);
}
"""


def python_loop(name, a, b, calls):
    functional = torch.nn.functional
    op = {"matmul": torch.matmul, "add": torch.add,
          "conv2d": lambda a, b: functional.conv2d(a, b, padding=1),
          "max_pool2d": lambda a, b: functional.max_pool2d(a, 3, 2, 1),
          "avg_pool2d": lambda a, b: functional.avg_pool2d(a, 3, 2, 1)}.get(name)
    with torch.inference_mode():
        if op is None:
            for _ in range(calls):
                torch.neg(a)
        else:
            for _ in range(calls):
                op(a, b)


def llama(device, dtype, train):
    """transformers' own model of the size that `wick train` has by default."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=256, hidden_size=128, intermediate_size=344, num_hidden_layers=4, num_attention_heads=4,
                         num_key_value_heads=4, max_position_embeddings=256, tie_word_embeddings=True)
    torch.manual_seed(1)
    model = LlamaForCausalLM(config).to(dtype).to(device)
    return model.train() if train else model.eval()


def train_step(device, dtype, sequences):
    """Forward, backward, clipping and AdamW over sequences of 128 tokens."""
    model = llama(device, dtype, True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    text = torch.randint(256, (sequences, 129), device=device)

    def step():
        logits = model(text[:, :-1], use_cache=False).logits
        torch.nn.functional.cross_entropy(logits.reshape(-1, 256), text[:, 1:].reshape(-1)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def generate(device, dtype, tokens):
    """That many tokens after a prompt of 64, greedy, with a cache; each is read by the host as it comes."""
    model = llama(device, dtype, False)
    prompt = torch.randint(256, (1, 64), device=device)

    def run():
        with torch.inference_mode():
            result = model(prompt, use_cache=True)
            for _ in range(tokens):
                token = result.logits[:, -1:].argmax(-1)
                token.item()
                result = model(token, past_key_values=result.past_key_values, use_cache=True)

    return run


def seconds_of(name, dtype, size, budget, device, loop):
    """As Request::time in side.h: the median of about eight batches."""
    parts = 1
    if name in ("train_step", "generate"):
        run = (train_step if name == "train_step" else generate)(device, dtype, size)
        parts = size if name == "generate" else 1
        a = b = None
        loop = lambda name, a, b, calls: [run() for _ in range(calls)]
    elif name == "copy":
        a, b = torch.rand(size, device=device), torch.empty(size, device=device)
        loop = lambda name, a, b, calls: [b.copy_(a) for _ in range(calls)]
    elif name in MATRIX_OPS:
        a, b = ((torch.rand(size, size) * 2 - 1).to(dtype).to(device) for _ in range(2))
        ids = (torch.arange(size, device=device) * 911 % size).expand(size, size).contiguous()

        def loop(name, a, b, calls):
            with torch.inference_mode():
                for _ in range(calls):
                    MATRIX_OPS[name](a, b, ids)
    else:
        shapes = {"matmul": [(size, size)] * 2,
                  "conv2d": [(8, size, 3584 // size, 3584 // size), (size, size, 3, 3)],
                  "max_pool2d": [(8, 64, size, size)] * 2,
                  "avg_pool2d": [(8, 64, size, size)] * 2}.get(name, [(size,)] * 2)
        a, b = ((torch.rand(shape) * 2 - 1).to(dtype).to(device) for shape in shapes)

    def batch(calls):
        if device.type != "cpu":
            torch.cuda.synchronize(device)
        start = time.perf_counter()
        loop(name, a, b, calls)
        if device.type != "cpu":
            torch.cuda.synchronize(device)
        return time.perf_counter() - start

    batch(1)
    calls = 1
    while batch(calls) < budget / 8:
        calls *= 2
    start, seconds = time.perf_counter(), []
    while not seconds or time.perf_counter() - start < budget:
        seconds.append(batch(calls) / calls / parts)
    return statistics.median(seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cpp", action="store_true")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    # PyTorch for AMD cards calls them cuda, too.
    device = torch.device(options.device.replace("rocm", "cuda"))
    loop = python_loop
    if options.cpp:
        from torch.utils.cpp_extension import load_inline

        loop = load_inline("wick_bench_loop", LOOP, functions=["loop"]).loop
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} threads"
    print(f"ready PyTorch {torch.__version__} ({'C++' if options.cpp else 'Python'} loop, {where})", flush=True)
    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    for line in sys.stdin:
        name, dtype, size, budget = line.split()
        if name not in CASES + tuple(MATRIX_OPS) or dtype not in dtypes:
            print("unsupported", flush=True)
            continue
        print(seconds_of(name, dtypes[dtype], int(size), float(budget), device, loop), flush=True)


main()
