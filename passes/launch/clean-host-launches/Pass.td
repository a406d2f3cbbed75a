// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def CleanHostLaunches : RewritePass<"clean-host-launches"> {
  let summary = "Take what is not needed out of the host's side of the launches";
  let description = [{
    Synchronisation after every launch, allocation inside the loop, pageable copies in between, many tiny launches in a fixed
    sequence: the device waits for the host. It counts only where the host's span is measured, that is for whole programs.

    The rule does two of these. It drops `cudaDeviceSynchronize()` after a launch where the host waits again before it calls anything or
    reads memory, or moves it behind the loop that it ends; and a buffer that a loop allocates and frees in every iteration, always of
    one size, is allocated once. Everything must be on the default stream, which keeps launches and copies in order by itself.

    It does not apply where the result of a call is checked, where a macro makes the call, or to kernels that print. Pinned memory,
    asynchronous copies and graphs are left to a model.
  }];
  let states = ["launch_overhead_dominant", "transfer_bandwidth_limited"];
  let site = LaunchSite;
  let promise = Bitwise;
  let allow = ["allocations", "graphs", "host-code", "host-transfers", "streams"];
}
