//! Gives the shared library a name of its own, so that programs look it up by that name and not by a path.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libhikyaku_blacs.so");
}
