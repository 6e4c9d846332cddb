// The program seat_init.cpp, as bytes in the library: a seat needs no file on the host for it.
#pragma once

#include "base/bytes.hpp"

namespace kcoral::sandbox {

ByteView seat_init_image();

}  // namespace kcoral::sandbox
