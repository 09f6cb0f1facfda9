//! What is declared of libfabric is what its installed headers say: values, sizes and offsets, as a C program prints them.

use hikyaku_ofi::sys;
use std::fmt::Write;
use std::mem::{offset_of, size_of};
use std::process::Command;

/// The C expressions that are compared, and what they are here.
fn expectations() -> Vec<(String, u64)> {
    let mut all = Vec::new();
    macro_rules! values {
        ($($name:ident),* $(,)?) => { $(all.push((stringify!($name).to_owned(), sys::$name as u64));)* };
    }
    macro_rules! offsets {
        ($c:literal, $rust:ident: $($c_field:ident = $field:ident),* $(,)?) => {
            $(all.push((format!("offsetof(struct {}, {})", $c, stringify!($c_field)), offset_of!(sys::$rust, $field) as u64));)*
        };
    }
    values!(
        FI_MSG,
        FI_RMA,
        FI_READ,
        FI_WRITE,
        FI_RECV,
        FI_SEND,
        FI_REMOTE_READ,
        FI_REMOTE_WRITE,
        FI_COMPLETION,
        FI_DELIVERY_COMPLETE,
        FI_SOURCE,
        FI_MSG_PREFIX,
        FI_CONTEXT,
        FI_CONTEXT2,
        FI_ORDER_SAS,
        FI_MR_LOCAL,
        FI_MR_VIRT_ADDR,
        FI_MR_ALLOCATED,
        FI_MR_PROV_KEY,
        FI_MR_ENDPOINT,
        FI_EP_RDM,
        FI_EP_DGRAM,
        FI_THREAD_SAFE,
        FI_RM_ENABLED,
        FI_AV_TABLE,
        FI_WAIT_FD,
        FI_CQ_FORMAT_MSG,
        FI_GETWAIT,
        FI_ENABLE,
        FI_ADDR_UNSPEC,
        FI_EAVAIL,
    );
    offsets!("fid", Fid: fclass = class, context = context, ops = ops);
    offsets!("fi_ops", Ops: size = size, close = close, bind = bind, control = control);
    offsets!("fi_info", Info: next = next, caps = caps, mode = mode, addr_format = addr_format, src_addrlen = src_addrlen,
        dest_addrlen = dest_addrlen, src_addr = src_addr, dest_addr = dest_addr, handle = handle, tx_attr = tx_attr,
        rx_attr = rx_attr, ep_attr = ep_attr, domain_attr = domain_attr, fabric_attr = fabric_attr);
    offsets!("fi_tx_attr", TxAttr: caps = caps, mode = mode, op_flags = op_flags, msg_order = msg_order,
        comp_order = comp_order, inject_size = inject_size, size = size, iov_limit = iov_limit);
    offsets!("fi_rx_attr", RxAttr: caps = caps, mode = mode, op_flags = op_flags, msg_order = msg_order,
        comp_order = comp_order, size = size);
    offsets!("fi_ep_attr", EpAttr: type = kind, protocol = protocol, protocol_version = protocol_version,
        max_msg_size = max_msg_size, msg_prefix_size = msg_prefix_size);
    offsets!("fi_domain_attr", DomainAttr: domain = domain, name = name, threading = threading,
        control_progress = control_progress, data_progress = data_progress, resource_mgmt = resource_mgmt,
        av_type = av_type, mr_mode = mr_mode, mr_key_size = mr_key_size);
    offsets!("fi_fabric_attr", FabricAttr: fabric = fabric, name = name, prov_name = prov_name,
        prov_version = prov_version, api_version = api_version);
    offsets!("fid_fabric", Fabric: fid = fid, ops = ops);
    offsets!("fi_ops_fabric", FabricOps: size = size, domain = domain, trywait = trywait);
    offsets!("fid_domain", Domain: fid = fid, ops = ops, mr = mr);
    offsets!("fi_ops_domain", DomainOps: size = size, av_open = av_open, cq_open = cq_open, endpoint = endpoint);
    offsets!("fi_ops_mr", MrOps: size = size, reg = reg);
    offsets!("fid_mr", Mr: fid = fid, mem_desc = mem_desc, key = key);
    offsets!("fi_av_attr", AvAttr: type = kind, rx_ctx_bits = rx_ctx_bits, count = count, ep_per_node = ep_per_node,
        name = name, map_addr = map_addr, flags = flags);
    offsets!("fid_av", Av: fid = fid, ops = ops);
    offsets!("fi_ops_av", AvOps: size = size, insert = insert);
    offsets!("fi_cq_attr", CqAttr: size = size, flags = flags, format = format, wait_obj = wait_obj,
        signaling_vector = signaling_vector, wait_cond = wait_cond, wait_set = wait_set);
    offsets!("fid_cq", Cq: fid = fid, ops = ops);
    offsets!("fi_ops_cq", CqOps: size = size, read = read, readerr = readerr);
    offsets!("fi_cq_msg_entry", CqMsgEntry: op_context = op_context, flags = flags, len = len);
    offsets!("fi_cq_err_entry", CqErrEntry: op_context = op_context, flags = flags, len = len, buf = buf, data = data,
        tag = tag, olen = olen, err = err, prov_errno = prov_errno, err_data = err_data, err_data_size = err_data_size);
    offsets!("fid_ep", Ep: fid = fid, cm = cm, msg = msg, rma = rma);
    offsets!("fi_ops_cm", CmOps: size = size, getname = getname);
    offsets!("fi_ops_msg", MsgOps: size = size, recv = recv, send = send, inject = inject);
    offsets!("fi_ops_rma", RmaOps: size = size, readmsg = readmsg, writemsg = writemsg);
    offsets!("fi_msg_rma", MsgRma: msg_iov = msg_iov, desc = desc, iov_count = iov_count, addr = addr, rma_iov = rma_iov,
        rma_iov_count = rma_iov_count, context = context, data = data);
    offsets!("fi_rma_iov", RmaIov: addr = addr, len = len, key = key);
    // What this side makes must be as large.
    for (name, size) in [
        ("fi_cq_msg_entry", size_of::<sys::CqMsgEntry>()),
        ("fi_cq_attr", size_of::<sys::CqAttr>()),
        ("fi_av_attr", size_of::<sys::AvAttr>()),
        ("fi_msg_rma", size_of::<sys::MsgRma>()),
        ("fi_rma_iov", size_of::<sys::RmaIov>()),
        ("fi_context2", 64),
    ] {
        all.push((format!("sizeof(struct {name})"), size as u64));
    }
    all.push((format!("sizeof(struct fi_cq_err_entry) <= {}", size_of::<sys::CqErrEntry>()), 1));
    all
}

#[test]
fn declarations_agree_with_the_headers() {
    let expected = expectations();
    let mut program = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <rdma/fabric.h>\n#include <rdma/fi_cm.h>\n\
         #include <rdma/fi_domain.h>\n#include <rdma/fi_endpoint.h>\n#include <rdma/fi_eq.h>\n#include <rdma/fi_errno.h>\n#include <rdma/fi_rma.h>\n\
         int main(void) {\n",
    );
    for (expression, _) in &expected {
        writeln!(program, "    printf(\"%llu\\n\", (unsigned long long)({expression}));").unwrap();
    }
    program += "    return 0;\n}\n";
    let folder = std::env::temp_dir().join(format!("hikyaku-headers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, binary) = (folder.join("print.c"), folder.join("print"));
    std::fs::write(&source, program).unwrap();
    let compiled = Command::new("gcc").arg("-o").args([&binary, &source]).output().unwrap();
    let printed = Command::new(&binary).output();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let printed = String::from_utf8(printed.unwrap().stdout).unwrap();
    let found: Vec<u64> = printed.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(found.len(), expected.len());
    for ((expression, expected), found) in expected.iter().zip(found) {
        assert_eq!(found, *expected, "{expression}");
    }
}
