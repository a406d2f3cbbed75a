//===- WorkloadCheck.cpp - Does a workload fit its function? ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "CxxTypes.h"
#include "kb-opt/Plan/Workload.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

namespace {

class Checker {
public:
  Checker(const Workload &workload, const Signature &signature)
      : workload(workload), signature(signature) {}

  Error run() {
    if (workload.kind == WorkloadKind::Program)
      return Error::success();
    if (workload.entryName().rsplit("::").second != StringRef(signature.name).rsplit("::").second &&
        workload.entryName() != signature.name)
      return contradiction(workload.place, "the workload is for '" + workload.entryName() + "'",
                           "the function is '" + signature.name + "'");
    if ((workload.kind == WorkloadKind::Kernel) != signature.isKernel)
      return contradiction(workload.place,
                           Twine("the workload calls '") + workload.entry + "' " +
                               (signature.isKernel ? "an entry" : "a kernel"),
                           "it is " + Twine(signature.isKernel ? "a kernel" : "a host function"));
    if (workload.parameters.size() != signature.parameters.size())
      return contradiction(
          workload.place, "the workload gives " + Twine(workload.parameters.size()) + " parameters",
          "'" + signature.name + "' takes " + Twine(signature.parameters.size()) + " (" + names() +
              ")");
    for (auto [given, wanted] : llvm::zip_equal(workload.parameters, signature.parameters))
      if (Error error = check(given, wanted))
        return error;
    return Error::success();
  }

private:
  std::string names() const {
    std::vector<std::string> all;
    for (const SignatureParameter &parameter : signature.parameters)
      all.push_back(parameter.name.empty() ? parameter.type : parameter.name);
    return llvm::join(all, ", ");
  }

  Error contradiction(StringRef place, const Twine &here, const Twine &there) const {
    std::string message = (place + ": " + here + ", but " + there).str();
    if (!signature.place.empty())
      message += " (" + signature.place + ")";
    return llvm::make_error<UsageError>(message, "kb-opt --emit=workload writes a fitting skeleton",
                                        ExitStatus::Diagnostics);
  }

  Error check(const WorkloadParameter &given, const SignatureParameter &wanted) const {
    if (!wanted.name.empty() && given.name != wanted.name)
      return contradiction(given.place, "the workload names parameter '" + given.name + "'",
                           "the function has '" + wanted.name + "' in its place");
    std::optional<ElementType> pointee = pointedElement(wanted.type);
    bool isReference = StringRef(wanted.type).rtrim().ends_with("&");
    if (given.isBuffer && (!pointee || isReference))
      return contradiction(given.place, "the workload makes '" + given.name + "' a buffer",
                           "its type is '" + wanted.type + "'");
    if (!given.isBuffer && pointee && !isReference && !given.isCxx)
      return contradiction(given.place, "the workload makes '" + given.name + "' a scalar",
                           "its type is '" + wanted.type + "'");
    if (given.isBuffer && given.role != Role::In && pointsToConst(wanted.type))
      return contradiction(given.place,
                           "the workload makes '" + given.name + "' " +
                               (given.role == Role::Out ? "out" : "inout"),
                           "its type is '" + wanted.type + "'");
    ElementType type = given.isBuffer ? *pointee : scalarElement(wanted.type);
    bool known = type != ElementType::Unknown && given.element != ElementType::Unknown;
    if (known && type != given.element)
      return contradiction(given.place,
                           "the workload gives '" + given.name + "' elements of type " +
                               kbrt::elementTypeName(given.element),
                           "its type is '" + wanted.type + "'");
    return Error::success();
  }

  const Workload &workload;
  const Signature &signature;
};

} // namespace

Error kbopt::checkWorkload(const Workload &workload, const Signature &signature) {
  return Checker(workload, signature).run();
}
