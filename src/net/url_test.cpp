#include "net/url.hpp"
