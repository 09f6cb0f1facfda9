//! Gives the shared library a name of its own, with the version of its interface, so that programs look it up by that name and not by
//! a path. Where it is built, a link has that name too: programs of the sources run without being installed.

use std::path::PathBuf;

const NAME: &str = "libhikyaku_blacs.so.0";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{NAME}");
    // <profile>/build/<package>/out
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let link = out.ancestors().nth(3).expect("cargo's folders").join(NAME);
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink("libhikyaku_blacs.so", &link).expect("the folder of the build can be written");
}
