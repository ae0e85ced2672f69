//! Pointers of C as what they are to be, or why not.

use crate::status::Failure;
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Refuses NULL.
pub fn not_null<T>(pointer: *const T, name: &str) -> Result<(), Failure> {
    if pointer.is_null() { Err(is_null(name)) } else { Ok(()) }
}

fn is_null(name: &str) -> Failure {
    Failure::Argument(format!("{name} is NULL; give a pointer"))
}

/// What a pointer points to.
///
/// # Safety
/// It is NULL, or points to a value that lives and that nobody changes meanwhile.
pub unsafe fn shared<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: by the contract.
    unsafe { pointer.as_ref() }.ok_or_else(|| is_null(name))
}

/// What a pointer points to, to be changed.
///
/// # Safety
/// It is NULL, or points to a value that lives and that nobody else uses meanwhile.
pub unsafe fn exclusive<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: by the contract.
    unsafe { pointer.as_mut() }.ok_or_else(|| is_null(name))
}

/// A text.
///
/// # Safety
/// It is NULL, or ends with a zero.
pub unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    // SAFETY: by the contract.
    let bytes = unsafe { bytes(pointer, name) }?;
    bytes.to_str().map_err(|_| Failure::Argument(format!("{name} is not UTF-8")))
}

/// A path, in whatever bytes the system has it.
///
/// # Safety
/// It is NULL, or ends with a zero.
pub unsafe fn path(pointer: *const c_char, name: &str) -> Result<PathBuf, Failure> {
    // SAFETY: by the contract.
    let bytes = unsafe { bytes(pointer, name) }?;
    Ok(PathBuf::from(OsStr::from_bytes(bytes.to_bytes())))
}

unsafe fn bytes<'a>(pointer: *const c_char, name: &str) -> Result<&'a CStr, Failure> {
    not_null(pointer, name)?;
    // SAFETY: it is not NULL, and ends with a zero by the contract.
    Ok(unsafe { CStr::from_ptr(pointer) })
}
