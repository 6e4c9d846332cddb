// Boost.JSON, compiled here: GPU hosts have Boost's headers, rarely this one of its libraries.
#include <boost/json/src.hpp>
