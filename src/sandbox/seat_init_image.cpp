// The assembler puts the built program into read-only data.
#include "sandbox/seat_init_image.hpp"

asm(".pushsection .rodata\n"
    ".balign 16\n"
    "kcoral_seat_init_begin:\n"
    ".incbin \"" KCORAL_SEAT_INIT
    "\"\n"
    "kcoral_seat_init_end:\n"
    ".popsection\n");

extern "C" const std::byte kcoral_seat_init_begin[] __attribute__((visibility("hidden")));
extern "C" const std::byte kcoral_seat_init_end[] __attribute__((visibility("hidden")));

namespace kcoral::sandbox {

ByteView seat_init_image() {
    return {kcoral_seat_init_begin, kcoral_seat_init_end};
}

}  // namespace kcoral::sandbox
