//! The loops of the built-in operations become vector instructions: this program disassembles itself (`objdump`).
//!
//! Not in debug builds, where no loop does, and not on other processors, whose instructions have other names.
#![cfg(all(target_arch = "x86_64", not(debug_assertions)))]

use hikyaku::collective::{AbsMax, BitXor, Max, Min, Operation, Product, Sum};
use std::collections::HashMap;
use std::process::Command;

/// `name: operation, type, instructions`, of which one must be there: such as work on several elements at once.
macro_rules! loops {
    ($($name:ident: $operation:ident, $type:ty, [$($packed:literal),*];)*) => {
        $(
            #[inline(never)]
            fn $name(total: &mut [$type], input: &[$type]) {
                $operation.combine(total, input);
            }
        )*

        const LOOPS: &[(&str, &[&str])] = &[$((stringify!($name), &[$($packed),*])),*];

        /// Functions that nobody uses would not be in the program.
        fn keep() {
            $(std::hint::black_box($name as fn(&mut [$type], &[$type]));)*
        }
    };
}

loops! {
    vectorised_sum_i32: Sum, i32, ["paddd"];
    vectorised_sum_i64: Sum, i64, ["paddq"];
    vectorised_sum_f32: Sum, f32, ["addps"];
    vectorised_sum_f64: Sum, f64, ["addpd"];
    vectorised_product_i32: Product, i32, ["pmuludq", "pmulld"];
    vectorised_product_f32: Product, f32, ["mulps"];
    vectorised_product_f64: Product, f64, ["mulpd"];
    vectorised_max_i32: Max, i32, ["pcmpgtd", "pmaxsd"];
    vectorised_max_f32: Max, f32, ["maxps", "cmpltps"];
    vectorised_max_f64: Max, f64, ["maxpd", "cmpltpd"];
    vectorised_min_u32: Min, u32, ["pcmpgtd", "pminud"];
    vectorised_min_f64: Min, f64, ["minpd", "cmpltpd"];
    vectorised_abs_max_i32: AbsMax, i32, ["pcmpgtd", "pabsd"];
    vectorised_abs_max_f64: AbsMax, f64, ["cmpltpd"];
    vectorised_bit_xor_u64: BitXor, u64, ["pxor", "xorps"];
}

#[test]
fn built_in_operations_work_on_several_elements_at_once() {
    keep();
    let functions = disassembled();
    // With the instructions of newer processors, which a build may be made for, the same names begin by v.
    let plain = |seen: &String| seen.strip_prefix('v').unwrap_or(seen).to_string();
    let is_scalar = |(name, packed): &&(&str, &[&str])| {
        let instructions = functions.get(*name).unwrap_or_else(|| panic!("{name} was not disassembled"));
        !instructions.iter().any(|seen| packed.contains(&plain(seen).as_str()))
    };
    let scalar: Vec<_> = LOOPS.iter().filter(is_scalar).collect();
    assert!(scalar.is_empty(), "one element after the other, without these instructions: {scalar:#?}");
}

/// The names of the instructions of the functions above.
fn disassembled() -> HashMap<String, Vec<String>> {
    let mut objdump = Command::new("objdump");
    objdump.args(["--disassemble", "--no-show-raw-insn", "--section=.text"]).arg(std::env::current_exe().unwrap());
    let output = objdump.output().expect("objdump of binutils");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let mut functions: HashMap<String, Vec<String>> = HashMap::new();
    let mut current = None;
    for line in text.lines() {
        // `address <name>:` begins a function, `address:<tab>instruction operands` is one of it.
        if let Some(name) = line.strip_suffix(">:").and_then(|line| line.split_once('<')) {
            // The compiler adds to the name.
            let known = LOOPS.iter().find(|(known, _)| name.1.contains(known));
            current = known.map(|(known, _)| functions.entry((*known).into()).or_default());
        } else if let (Some(instructions), Some((_, instruction))) = (&mut current, line.split_once('\t')) {
            instructions.extend(instruction.split_whitespace().next().map(String::from));
        }
    }
    functions
}
