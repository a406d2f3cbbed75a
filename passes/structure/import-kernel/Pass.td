// SPDX-License-Identifier: Apache-2.0

include "kb-opt/Rewrite/Pass.td"

def ImportKernel : RewritePass<"import-kernel"> {
  let aliases = ["copy-kernel-from-header"];
  let summary = "Copy a kernel from a header into the file that launches it";
  let description = [{
    Rewrites change the file that kb-opt was given and nothing that it includes: another file may launch the same kernel. A kernel
    that stands in one of the user's headers is therefore left alone by every pass that changes its text. This pass copies it in front of the first function that
    launches it, under a name of its own, and the launches take the copy. By itself that gains nothing; the other passes then apply to the copy.

    The rule applies where the text means the same at its new place: the kernel stands in no namespace or class, is not specialised, and
    has no variable that lives as long as the program; no macro that it names is defined anew behind it, and the file declares nothing under a name
    that the kernel uses. A launch in a macro, in another file or as the fallback of another kernel keeps the header's kernel.
    Passes that give a kernel a whole schedule need no copy.
  }];
  let states = ["instruction_mix_suboptimal", "memory_latency_bound"];
  let enables = ["add-restrict-const", "specialize-constants", "vectorize-loads", "unroll-loop", "launch-bounds"];
  let site = LaunchSite;
  let promise = Bitwise;
}
