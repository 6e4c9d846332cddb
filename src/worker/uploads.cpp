// Reading blobs by position from the descriptors that came with the program.
#include "worker/uploads.hpp"

#include "worker/failure.hpp"
#include "worker/python.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace kcoral::worker {

namespace nb = nanobind;
using protocol::ErrorKind;

const Execute::Blob& Uploads::find(const Digest& digest) const {
    auto found = std::ranges::find(request_.blobs, digest, &Execute::Blob::digest);
    if (found != request_.blobs.end()) return *found;
    throw InstructionFailed(ErrorKind::engine, "the blob did not reach the worker");
}

void Uploads::read_into(const Execute::Blob& blob, char* destination) const {
    int file = request_.files[blob.descriptor].get();
    for (std::uint64_t done = 0; done < blob.size;) {
        ssize_t count = ::pread(file, destination + done, blob.size - done,
                                static_cast<off_t>(blob.offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0)
            throw InstructionFailed(ErrorKind::engine, "a blob is shorter than announced");
        done += static_cast<std::uint64_t>(count);
    }
}

nb::object Uploads::bytes(const Digest& digest) const {
    const Execute::Blob& blob = find(digest);
    nb::object bytes =
        nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(blob.size)));
    if (!bytes.is_valid()) throw failure_from(take_exception(), ErrorKind::runtime);
    read_into(blob, PyBytes_AS_STRING(bytes.ptr()));
    return bytes;
}

nb::object Uploads::read(const Execute::Blob& blob) const {
    nb::object bytes =
        nb::steal(PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(blob.size)));
    if (!bytes.is_valid()) throw failure_from(take_exception(), ErrorKind::runtime);
    read_into(blob, PyByteArray_AS_STRING(bytes.ptr()));
    return bytes;
}

nb::object Uploads::host_tensor(const Digest& digest, std::string_view dtype,
                                std::span<const std::int64_t> shape) const {
    const Execute::Blob& blob = find(digest);
    nb::list extents;
    for (std::int64_t extent : shape)
        extents.append(extent);
    nb::object torch = imported_module("torch");
    try {
        std::string name(dtype);
        nb::object data = read(blob);
        if (torch.is_valid()) {
            nb::object type = torch.attr(name.c_str());
            if (blob.size == 0) return torch.attr("empty")(extents, nb::arg("dtype") = type);
            return torch.attr("frombuffer")(data, nb::arg("dtype") = type).attr("reshape")(extents);
        }
        nb::object numpy = nb::module_::import_("numpy");
        bool small_float = dtype == "bfloat16" || dtype.starts_with("float8");
        nb::object type = small_float ? nb::module_::import_("ml_dtypes").attr(name.c_str())
                                      : numpy.attr("dtype")(name.c_str());
        return numpy.attr("frombuffer")(data, nb::arg("dtype") = type).attr("reshape")(extents);
    } catch (nb::python_error& error) {
        error.restore();
        throw failure_from(take_exception(), Raised::in_call);
    }
}

void Uploads::write_file(const Digest& digest, std::string_view path,
                         const Workspace& workspace) const {
    const Execute::Blob& blob = find(digest);
    const Fd& file = request_.files[blob.descriptor];
    auto written =
        without_gil([&] { return workspace.write_file(path, file, blob.offset, blob.size); });
    if (!written)
        throw InstructionFailed(ErrorKind::runtime,
                                "the file could not be written: " + written.error().message);
}

}  // namespace kcoral::worker
