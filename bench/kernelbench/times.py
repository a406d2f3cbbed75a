# SPDX-License-Identifier: Apache-2.0

"""Times of functions of torch on the GPU."""
import statistics

FLUSH_BYTES = 256 << 20  # more than the L2 of any card so far


def microseconds(torch, functions, rounds):
    """The median of `rounds` runs of each function (by name, without arguments), in turns, each with a cold L2."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    taken = {name: [] for name in functions}
    with torch.no_grad():
        for _ in range(rounds):
            for name, function in functions.items():
                flush.zero_()
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                torch.cuda.synchronize()
                begin.record()
                function()
                end.record()
                torch.cuda.synchronize()
                taken[name].append(begin.elapsed_time(end) * 1000)
    return {name: statistics.median(values) for name, values in taken.items()}
