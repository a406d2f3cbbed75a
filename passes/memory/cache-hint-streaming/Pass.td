// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def CacheHintStreaming : RewritePass<"cache-hint-streaming"> {
  let aliases = ["cache-streaming-stores"];
  let summary = "Keep data that is touched once out of the caches";
  let description = [{
    `__ldcs` and `__stcs` mark elements that nobody will touch again soon: they are evicted first, so that data with reuse stays in the
    caches. It helps where streams and reused data compete for the second-level cache, and does harm where the next kernel would have
    found the stream there.

    It applies to a pointer parameter whose elements are only read, or only written, each by one thread once as far as the addresses
    say; also where they are read as vectors. Only reads of `const` data that no store of the kernel can reach are marked: a marked load
    may move across other stores. It does not apply where the pointer is passed on or moved, or to elements that have no such
    instruction.
  }];
  let states = ["memory_bandwidth_saturated", "cache_inefficient"];
  let excludes = ["persist-in-l2"];
  let site = ParameterSite;
  let promise = Bitwise;
}
