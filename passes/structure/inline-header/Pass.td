// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def InlineHeader : RewritePass<"inline-header"> {
  let summary = "Put the text of a header that launches its own kernels in place of its #include";
  let description = [{
    Rewrites change the file that kb-opt was given and nothing that it includes. Where a header holds both a kernel and the function that launches
    it, no other pass can act: this one writes the header's text where the file includes it, and the other passes then apply. By itself that
    gains nothing, and the header stays as it is for other files. A search begins with it, and leaves it out where nothing else comes of it.

    The rule applies where the text means the same in the file: the file itself includes the header, once, and the header
    does not ask for its own name or line, and includes nothing by a name that is looked up beside it, unless it stands beside the file.
    Kernels that the file itself launches are copied alone, by import-kernel.
  }];
  let states = ["instruction_mix_suboptimal", "memory_latency_bound"];
  let enables = ["add-restrict-const", "specialize-constants", "vectorize-loads", "unroll-loop", "launch-bounds", "tune-block-size"];
  let site = LaunchSite;
  let promise = Bitwise;
}
