// Work of a device that ended without computing its results, as other code than the device found.
#pragma once
#include <string>

#include "wick/base/error.h"

namespace wick {

class DeviceState;

/// The next wait for the device fails with this error, once: work that was queued before has wrong
/// results. Any thread may call it.
void report_lost_results(const DeviceState& state, ErrorCode code, const std::string& reason);
/// Takes the report back: its reason has been told in another way.
void forget_lost_results(const DeviceState& state);

}  // namespace wick
