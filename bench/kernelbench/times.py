# SPDX-License-Identifier: Apache-2.0

"""Times of functions of torch on the GPU, and which processes use the card meanwhile: either many that compute, or one that is timed."""
import contextlib
import fcntl
import os
import statistics
import tempfile

FLUSH_BYTES = 1 << 30  # more than the L2 of any card so far, and a quarter of a millisecond


@contextlib.contextmanager
def locked(name, card, how):
    with open(os.path.join(tempfile.gettempdir(), f"kb-kernelbench-{name}-{card}.lock"), "w") as file:
        fcntl.flock(file, how)
        yield


def card_of(environment):
    """The card that a process sees, or 'all'."""
    return environment.get("CUDA_VISIBLE_DEVICES") or "all"


@contextlib.contextmanager
def computing(environment=os.environ):
    """Beside other processes that compute on the same card, never beside one that is timed, and not before one that waits to be."""
    with locked("gate", card_of(environment), fcntl.LOCK_EX):
        held = locked("card", card_of(environment), fcntl.LOCK_SH)
        held.__enter__()
    try:
        yield
    finally:
        held.__exit__(None, None, None)


@contextlib.contextmanager
def alone(environment=os.environ):
    """No other process is on the card. A process must not wait for it while it computes."""
    with locked("gate", card_of(environment), fcntl.LOCK_EX), locked("card", card_of(environment), fcntl.LOCK_EX):
        yield


def microseconds(torch, functions, rounds):
    """The median of `rounds` runs of each function (by name, without arguments), in turns, each with a cold L2.

    The flush that makes the L2 cold is not waited for: while it runs, the host gets the function's launches ready, as triton's do_bench does it. What the host computes longer than that counts.
    """
    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    taken = {name: [] for name in functions}
    with torch.no_grad():
        for _ in range(rounds):
            for name, function in functions.items():
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                torch.cuda.synchronize()
                flush.zero_()
                begin.record()
                function()
                end.record()
                torch.cuda.synchronize()
                taken[name].append(begin.elapsed_time(end) * 1000)
    return {name: statistics.median(values) for name, values in taken.items()}


def kernel_microseconds(torch, functions, rounds):
    """What the kernels and copies of one call take on the GPU, each round with a cold L2: without the host's part, such as waiting for the GPU inside the function."""
    flush, taken = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda"), {}
    for name, function in functions.items():
        with torch.no_grad(), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            for _ in range(rounds):
                flush.add_(1)
                function()
            torch.cuda.synchronize()
        taken[name] = sum(event.time_range.elapsed_us() for event in profile.events() if is_of_function(torch, event)) / rounds
    return taken


def is_of_function(torch, event):
    """Whether an event of the profiler is work of the GPU, and not the flush, the only arithmetic on int8."""
    return event.device_type == torch.autograd.DeviceType.CUDA and "signed char" not in event.name and not event.name.startswith("ProfilerStep")


def compiled(torch, function, modes, call, failures):
    """{"compile MODE": what torch.compile makes of the function}, each called once; why a mode failed goes to `failures`."""
    functions = {}
    for mode in modes:
        torch._dynamo.reset()
        made = torch.compile(function, mode=mode)
        try:
            call(made)
            functions["compile " + mode] = made
        except Exception as error:  # whatever the compiler raises
            failures[mode] = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
    return functions


def distance(result, exact):
    """The largest difference, over the largest value."""
    pairs = zip(result, exact) if isinstance(exact, (tuple, list)) else [(result, exact)]
    return max(float((a.double() - b).abs().max() / b.abs().max().clamp_min(1e-30)) for a, b in pairs)
