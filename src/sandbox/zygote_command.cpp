// The table of what bubblewrap mounts.
#include "sandbox/zygote_command.hpp"

#include "base/atomic_file.hpp"
#include "sandbox/paths.hpp"
#include "sandbox/workspace_layout.hpp"

#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

namespace kcoral::sandbox {
namespace fs = std::filesystem;
namespace {

constexpr const char* system_links[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

// Read-only and, where the host has them, as they are there: finding libraries, compilers, zones.
constexpr const char* system_files[] = {
    "/etc/ld.so.cache", "/etc/ld.so.conf",         "/etc/ld.so.conf.d",        "/etc/alternatives",
    "/etc/localtime",   "/etc/timezone",           "/etc/ssl/certs",           "/etc/protocols",
    "/etc/services",    "/sys/devices/system/cpu", "/sys/devices/system/node",
};

constexpr const char* devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                   "/dev/urandom"};

// link, target. What programs write goes to their workspace; links cost a seat nothing.
constexpr std::pair<const char*, const char*> links[] = {
    {"/dev/fd", "/proc/self/fd"},       {"/dev/stdin", "/proc/self/fd/0"},
    {"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
    {"/dev/shm", "/work/.kcoral/shm"},  {"/tmp", "/work/.kcoral/tmp"},
    {"/var/tmp", "/work/.kcoral/tmp"},
};

constexpr const char* system_folder = "/.system";  // in the workspaces folder

constexpr const char* own_files[] = {"hosts", "nsswitch.conf", "passwd", "group"};

std::string own_file(std::string_view name) {
    if (name == "hosts") return "127.0.0.1 localhost kcoral\n::1 localhost\n";
    if (name == "nsswitch.conf") return "passwd: files\ngroup: files\nhosts: files\n";
    // Seats of a root have users of their own, which are too many for a line each.
    const char* user = ::geteuid() == 0 ? "root" : "kcoral";
    if (name == "passwd")
        return fmt::format("{}:x:{}:{}::/work:/bin/sh\n", user, ::geteuid(), ::getegid());
    return fmt::format("{}:x:{}:\n", user, ::getegid());
}

// Where a host path is mounted. Below a link the mount goes to where the link leads, below /work:
// the launcher mounts that again in each seat, over the workspace.
std::string destination(const std::string& path) {
    for (const auto& [link, target] : links)
        if (path != link && lies_in(path, link))
            return target + path.substr(std::string(link).size());
    return path;
}

class Arguments {
  public:
    template <typename... Words>
    void add(Words&&... words) {
        (list_.emplace_back(std::forward<Words>(words)), ...);
    }
    void read_only(const std::string& path) { mount("--ro-bind", path, destination(path)); }
    void read_only_if_there(const std::string& path) {
        mount("--ro-bind-try", path, destination(path));
    }
    // Makes the folders above `point` itself: bubblewrap would close them to seats' own users.
    void mount(const char* how, std::string_view what, const std::string& point) {
        for (std::size_t end = point.find('/', 1); end != point.npos;
             end = point.find('/', end + 1))
            if (std::string folder = point.substr(0, end); made_.insert(folder).second)
                add("--dir", folder);
        add(how, what, point);
        made_.insert(point);
    }
    std::vector<std::string> take() { return std::move(list_); }

  private:
    std::vector<std::string> list_;
    std::set<std::string> made_;  // folders, and what lies on mount points
};

void add_namespaces(Arguments& arguments, const Policy& policy) {
    arguments.add("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net",
                  "--unshare-cgroup-try", "--hostname", "kcoral", "--die-with-parent",
                  "--new-session", "--cap-drop", "ALL");
    if (!policy.root) arguments.add("--unshare-user");
    std::vector<const char*> capabilities = {"CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_SETPCAP"};
    // A root's seats run under users of their own and own their workspaces; where root has no
    // other users, they get user namespaces (CAP_SETFCAP, for a map of root's id).
    if (policy.root)
        capabilities.insert(capabilities.end(), {"CAP_SETUID", "CAP_SETGID", "CAP_CHOWN",
                                                 "CAP_DAC_OVERRIDE", "CAP_KILL", "CAP_SETFCAP"});
    for (const char* capability : capabilities)
        arguments.add("--cap-add", capability);
}

void add_system(Arguments& arguments, const Policy& policy) {
    arguments.read_only("/usr");
    for (const char* link : system_links) {
        std::error_code error;
        if (fs::is_symlink(link, error))
            arguments.mount("--symlink", fs::read_symlink(link, error).string(), link);
        else
            arguments.read_only_if_there(link);
    }
    for (const char* file : system_files)
        arguments.read_only_if_there(file);
    for (const char* file : own_files)
        arguments.mount("--ro-bind", fmt::format("{}{}/{}", policy.workspaces, system_folder, file),
                        fmt::format("/etc/{}", file));
    arguments.add("--proc", "/proc");
}

void add_devices(Arguments& arguments, const Policy& policy) {
    arguments.add("--tmpfs", "/dev");
    for (const char* device : devices)
        arguments.add("--dev-bind", device, device);
    for (const std::string& device : policy.devices)
        arguments.add("--dev-bind-try", device, device);
}

void add_paths(Arguments& arguments, const Policy& policy) {
    std::vector<std::string> paths = policy.python.paths;
    paths.insert(paths.end(), policy.readonly_paths.begin(), policy.readonly_paths.end());
    paths.insert(paths.end(), policy.driver_paths.begin(), policy.driver_paths.end());
    for (const std::string& path : without_covered(paths))
        if (!lies_in(path, "/usr")) arguments.read_only_if_there(path);
}

}  // namespace

Result<void> write_system_files(const Policy& policy) {
    std::string folder = policy.workspaces + system_folder;
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return errno_failure(folder);
    for (const char* name : own_files) {
        TRY_ASSIGN(AtomicFile file, AtomicFile::create(folder + "/" + name));
        TRY(file.write(as_bytes(own_file(name))));
        // Whatever the umask: seats may run under users of their own.
        if (::fchmod(file.fd().get(), 0644) != 0) return errno_failure(folder);
        TRY(file.commit());
    }
    return {};
}

std::vector<std::string> zygote_command(const Policy& policy,
                                        const std::vector<std::string>& program) {
    Arguments arguments;
    arguments.add(policy.bubblewrap);
    add_namespaces(arguments, policy);
    add_system(arguments, policy);
    add_devices(arguments, policy);
    for (const auto& [link, target] : links)
        arguments.mount("--symlink", target, link);
    arguments.add("--dir", sandbox_workspace, "--dir", empty_folder);
    add_paths(arguments, policy);
    arguments.add("--bind", policy.workspaces, zygote_workspaces);
    arguments.add("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--");
    for (const std::string& word : program)
        arguments.add(word);
    return arguments.take();
}

}  // namespace kcoral::sandbox
