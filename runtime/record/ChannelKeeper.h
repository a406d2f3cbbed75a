//===- ChannelKeeper.h - Leaves a recording with another process -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBRT_RECORD_CHANNELKEEPER_H
#define KBRT_RECORD_CHANNELKEEPER_H

#include "kbrt/RecordKeeper.h"

namespace kbrt {

/// Connects to the keeper that listens at \p path; null with errno set if there is none.
std::unique_ptr<RecordKeeper> connectKeeper(const std::string &path);

} // namespace kbrt

#endif // KBRT_RECORD_CHANNELKEEPER_H
