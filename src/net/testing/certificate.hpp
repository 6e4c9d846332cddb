// Certificate: a self-signed certificate for 127.0.0.1 and localhost in a temporary folder.
#pragma once

#include <string>

namespace kcoral::net {

class Certificate {
  public:
    Certificate();
    ~Certificate();  // removes the files
    Certificate(const Certificate&) = delete;

    const std::string& certificate_file() const { return certificate_file_; }
    const std::string& key_file() const { return key_file_; }

    // Writes another key and certificate into the same files.
    void renew();

  private:
    std::string directory_;
    std::string certificate_file_;
    std::string key_file_;
};

}  // namespace kcoral::net
