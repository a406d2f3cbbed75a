# SPDX-License-Identifier: Apache-2.0

"""Problems spread over the GPUs of a host: each process sees one of them."""
import contextlib
import os
import threading


class Cards:
    """The GPUs that are named, as CUDA_VISIBLE_DEVICES names them, with commas. Where none is named, a process sees what this one sees."""

    def __init__(self, names):
        self.users = dict.fromkeys((name for name in names.split(",") if name), 0)
        self.lock = threading.Lock()

    @contextlib.contextmanager
    def one(self):
        """The environment of processes that use the GPU with the fewest users, which this adds to while it is held."""
        if not self.users:
            yield dict(os.environ)
            return
        with self.lock:
            card = min(self.users, key=self.users.get)
            self.users[card] += 1
        try:
            yield {**os.environ, "CUDA_VISIBLE_DEVICES": card}
        finally:
            with self.lock:
                self.users[card] -= 1
