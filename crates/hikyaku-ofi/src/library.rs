//! libfabric, found while the program runs, and what it offers. A build needs none, and a site's own is used.

use crate::sys::{
    FI_CONTEXT, FI_CONTEXT2, FI_EP_DGRAM, FI_EP_RDM, FI_MR_ALLOCATED, FI_MR_ENDPOINT, FI_MR_LOCAL, FI_MR_PROV_KEY,
    FI_MR_VIRT_ADDR, FI_MSG, FI_MSG_PREFIX, FI_ORDER_SAS, FI_RM_ENABLED, FI_RMA, FI_SOURCE, FI_THREAD_SAFE, Fabric,
    FabricAttr, Info,
};
use hikyaku::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::net::IpAddr;
use std::ptr::NonNull;
use std::sync::OnceLock;

const NAME: &CStr = c"libfabric.so.1";

/// The oldest version that is used. Newer ones are asked to behave as it does.
const VERSION: u32 = 1 << 16 | 17;

/// Bytes of a datagram: longer ones only make whoever loses one send more again.
const DATAGRAM_MAX: usize = 8 << 10;

/// The functions that are no entries of tables.
#[derive(Clone, Copy)]
pub struct Library {
    pub getinfo: unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int,
    pub dupinfo: unsafe extern "C" fn(*const Info) -> *mut Info,
    pub freeinfo: unsafe extern "C" fn(*mut Info),
    pub fabric: unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    version: u32,
}

impl Library {
    /// The one of this process, loaded when it is first asked for. It stays.
    ///
    /// # Errors
    /// When there is none, or one that is too old.
    pub fn get() -> Result<&'static Library> {
        static LIBRARY: OnceLock<std::result::Result<Library, String>> = OnceLock::new();
        LIBRARY.get_or_init(load).as_ref().map_err(|reason| Error::Invalid(reason.clone()))
    }

    /// Whether its version is 1.
    pub fn is_first(&self) -> bool {
        self.version().starts_with("1.")
    }

    /// Its version, as people write it.
    pub fn version(&self) -> String {
        version_text(self.version)
    }

    /// What an error means.
    pub fn error_text(&self, code: isize) -> String {
        // SAFETY: any number will do; it gives a string that stays, or null.
        let text = unsafe { (self.strerror)(code.unsigned_abs().min(i32::MAX as usize) as c_int) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: a terminated string.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

fn version_text(version: u32) -> String {
    format!("{}.{}", version >> 16, version & 0xffff)
}

/// Endpoints of libfabric that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They lose nothing and keep the order.
    Reliable,
    /// They promise nothing, and need no connections: links of hikyaku's own repair what they lose.
    Datagram,
}

/// A way in which libfabric can connect ranks: a provider and one of its networks.
pub struct Offer {
    /// Owned, and without a successor.
    info: NonNull<Info>,
}

// SAFETY: owned memory that is only read.
unsafe impl Send for Offer {}

impl Offer {
    /// All ways that have what the transport needs, and some of which can reach memory, from an address of this host if the provider
    /// knows such.
    ///
    /// # Errors
    /// When there is no libfabric.
    pub fn all(host: Option<IpAddr>, kind: Kind) -> Result<Vec<Offer>> {
        if kind == Kind::Datagram {
            return Offer::with(host, kind, FI_MSG);
        }
        let mut offers = Offer::with(host, kind, FI_MSG | FI_RMA)?;
        let known: Vec<String> = offers.iter().map(Offer::provider).collect();
        offers.extend(Offer::with(host, kind, FI_MSG)?.into_iter().filter(|offer| !known.contains(&offer.provider())));
        Ok(offers)
    }

    fn with(host: Option<IpAddr>, kind: Kind, caps: u64) -> Result<Vec<Offer>> {
        let library = Library::get()?;
        let hints = Offer::hints(library, kind, caps)?;
        let host = host.map(|host| CString::new(host.to_string()).expect("an address has no zeros"));
        let node = host.as_ref().map_or(std::ptr::null(), |host| host.as_ptr());
        let flags = if host.is_some() { FI_SOURCE } else { 0 };
        let mut first = std::ptr::null_mut();
        // SAFETY: terminated strings or null, and live hints; it fills in a list that is owned from then on.
        let code = with_own_signals(|| unsafe {
            (library.getinfo)(VERSION, node, std::ptr::null(), flags, hints.info.as_ptr(), &mut first)
        });
        let mut offers = Vec::new();
        let mut next = if code == 0 { first } else { std::ptr::null_mut() };
        // SAFETY: null, or an entry of the list.
        while let Some(info) = unsafe { next.as_ref() } {
            // SAFETY: a live entry; the copy is owned, and has no successor.
            offers.extend(NonNull::new(unsafe { (library.dupinfo)(info) }).map(|info| Offer { info }));
            next = info.next;
        }
        if code == 0 {
            // SAFETY: the list from above, of which only copies are used.
            unsafe { (library.freeinfo)(first) };
        }
        Ok(offers)
    }

    /// What is needed.
    fn hints(library: &Library, kind: Kind, caps: u64) -> Result<Offer> {
        // SAFETY: makes an empty description with all its parts.
        let info = NonNull::new(unsafe { (library.dupinfo)(std::ptr::null()) });
        let mut hints = Offer { info: info.ok_or_else(|| Error::Invalid("libfabric has no memory left".into()))? };
        // SAFETY: owned; its parts were made with it.
        unsafe {
            let info = hints.info.as_mut();
            info.caps = caps;
            info.mode = FI_CONTEXT | FI_CONTEXT2;
            match kind {
                Kind::Reliable => {
                    (*info.ep_attr).kind = FI_EP_RDM;
                    (*info.tx_attr).msg_order = FI_ORDER_SAS;
                    (*info.rx_attr).msg_order = FI_ORDER_SAS;
                }
                Kind::Datagram => {
                    (*info.ep_attr).kind = FI_EP_DGRAM;
                    info.mode |= FI_MSG_PREFIX;
                }
            }
            let domain = &mut *info.domain_attr;
            // One thread at a time uses it, but some providers have threads of their own, and leave out their locks otherwise.
            domain.threading = FI_THREAD_SAFE;
            domain.resource_mgmt = FI_RM_ENABLED;
            domain.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
        }
        Ok(hints)
    }

    /// What libfabric reads; it changes nothing of it.
    pub fn info(&self) -> *mut Info {
        self.info.as_ptr()
    }

    /// Its provider, as `tcp;ofi_rxm`.
    pub fn provider(&self) -> String {
        // SAFETY: the parts of a description live as long as it does.
        unsafe { text((*self.info.as_ref().fabric_attr).prov_name) }
    }

    /// Its device, as `eth0`.
    pub fn domain(&self) -> String {
        // SAFETY: as above.
        unsafe { text((*self.info.as_ref().domain_attr).name) }
    }

    /// What the network is called.
    pub fn fabric(&self) -> String {
        // SAFETY: as above.
        unsafe { text((*self.info.as_ref().fabric_attr).name) }
    }

    /// Messages of so many bytes are read at once.
    pub fn inject_max(&self) -> usize {
        // SAFETY: as above.
        unsafe { (*self.info.as_ref().tx_attr).inject_size }
    }

    /// Bytes of the longest message.
    pub fn message_max(&self) -> usize {
        // SAFETY: as above.
        unsafe { (*self.info.as_ref().ep_attr).max_msg_size }
    }

    /// Bytes that must be left free before each message.
    pub fn prefix(&self) -> usize {
        // SAFETY: as above.
        let (mode, bytes) = unsafe { (self.info.as_ref().mode, (*self.info.as_ref().ep_attr).msg_prefix_size) };
        if mode & FI_MSG_PREFIX != 0 { bytes } else { 0 }
    }

    /// Bytes of the longest datagram that is used, with those: no longer than a datagram of any network.
    pub fn datagram_max(&self) -> usize {
        self.message_max().min(DATAGRAM_MAX)
    }

    /// Whether buffers of messages must be registered.
    pub fn must_register(&self) -> bool {
        self.mr_mode() & FI_MR_LOCAL != 0
    }

    /// How memory is registered.
    pub fn mr_mode(&self) -> c_int {
        // SAFETY: as above.
        unsafe { (*self.info.as_ref().domain_attr).mr_mode }
    }

    /// Whether memory can be deregistered while peers reach it: an adapter stops, a processor goes on with what it has begun.
    pub fn revokes(&self) -> bool {
        ["verbs", "cxi"].iter().any(|name| self.provider().split(';').next() == Some(name))
    }

    /// Whether memory is reached by the pages that it had when it was registered.
    pub fn pins(&self) -> bool {
        self.mr_mode() & FI_MR_ALLOCATED != 0
    }

    /// Whether it reaches memory of peers, in a way that is used here.
    pub fn reaches_memory(&self) -> bool {
        // SAFETY: as above.
        let (caps, key_bytes) = unsafe { (self.info.as_ref().caps, (*self.info.as_ref().domain_attr).mr_key_size) };
        // Keys that anybody could guess would let anybody in.
        let is_secret = key_bytes >= size_of::<u64>() || self.mr_mode() & FI_MR_PROV_KEY != 0;
        caps & FI_RMA != 0 && is_secret && self.mr_mode() & FI_MR_ENDPOINT == 0
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        if let Ok(library) = Library::get() {
            // SAFETY: owned, and not used any more.
            unsafe { (library.freeinfo)(self.info.as_ptr()) };
        }
    }
}

/// # Safety
/// Null, or a terminated string.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Does something that loads libraries; what the program does when signals come stays as it was. The library of Debian for adapters by
/// QLogic takes `SIGTERM` and others for itself when it is loaded, to print where the program was, and then ends it as if that had failed.
fn with_own_signals<R>(load: impl FnOnce() -> R) -> R {
    let signals = 1..32;
    let now = |signal: c_int| {
        // SAFETY: numbers and addresses, all of which may be zero.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: room for what is asked for.
        let is_known = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) } == 0;
        is_known.then_some(action)
    };
    let before: Vec<_> = signals.clone().map(now).collect();
    let loaded = load();
    for (signal, before) in signals.zip(before) {
        if let (Some(before), Some(after)) = (before, now(signal))
            && before.sa_sigaction != after.sa_sigaction
        {
            // SAFETY: what was there before.
            unsafe { libc::sigaction(signal, &before, std::ptr::null_mut()) };
        }
    }
    loaded
}

fn load() -> std::result::Result<Library, String> {
    // SAFETY: a terminated name; what runs at loading is the library's own initialisation.
    let handle = with_own_signals(|| unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) });
    if handle.is_null() {
        return Err(format!(
            "{} cannot be loaded: install libfabric, or add its folder to LD_LIBRARY_PATH, or unset HIKYAKU_TRANSPORT",
            NAME.to_string_lossy()
        ));
    }
    // By version: what is declared in `sys` is the form of that version, whichever the library's newest is.
    let find = |name: &CStr, version: &CStr| {
        // SAFETY: a live handle and terminated names.
        let found = unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
        if found.is_null() { Err(format!("libfabric lacks {}", name.to_string_lossy())) } else { Ok(found) }
    };
    // SAFETY: functions of these types, by libfabric's headers.
    let library = unsafe {
        let version: unsafe extern "C" fn() -> u32 = std::mem::transmute(find(c"fi_version", c"FABRIC_1.0")?);
        Library {
            getinfo: std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int,
            >(find(c"fi_getinfo", c"FABRIC_1.3")?),
            dupinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const Info) -> *mut Info>(find(
                c"fi_dupinfo",
                c"FABRIC_1.3",
            )?),
            freeinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut Info)>(find(
                c"fi_freeinfo",
                c"FABRIC_1.3",
            )?),
            fabric: std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int,
            >(find(c"fi_fabric", c"FABRIC_1.1")?),
            strerror: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> *const c_char>(find(
                c"fi_strerror",
                c"FABRIC_1.0",
            )?),
            version: version(),
        }
    };
    if library.version < VERSION {
        let (it, oldest) = (library.version(), version_text(VERSION));
        return Err(format!("libfabric {it} is too old: it must be {oldest} or newer"));
    }
    Ok(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test of its own process would be surer; but no other one here changes any.
    #[test]
    fn signals_stay_the_programs_own() {
        let caught = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let bits = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim().to_owned();
            u64::from_str_radix(&bits, 16).unwrap()
        };
        let before = caught();
        assert!(!Offer::all(None, Kind::Reliable).unwrap().is_empty());
        assert_eq!(caught(), before, "signals that are caught");
    }
}
