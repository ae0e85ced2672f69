-- NETBLT (RFC 998) for Wireshark and tshark: over IP protocol 30, and over UDP port 20030, plain or
-- sealed (docs/netblt.md): of sealed packets it shows what can be seen without the key.
-- tshark -X lua_script:netblt.lua -r trace.pcapng
--
-- A capture on the sending host may hold many packets in one datagram: the kernel cuts them apart
-- later (UDP_SEGMENT). Each of them is decoded, and netblt.packets says how many there are.

local netblt = Proto("netblt", "NETBLT Bulk Data Transfer")

local types = {
  [0] = "OPEN", [1] = "RESPONSE", [2] = "KEEPALIVE", [3] = "QUIT", [4] = "QUITACK", [5] = "ABORT",
  [6] = "DATA", [7] = "LDATA", [8] = "NULL-ACK", [9] = "CONTROL", [10] = "REFUSED", [11] = "DONE",
}
local messages = { [0] = "GO", [1] = "OK", [2] = "RESEND" }
local modes = { [0] = "READ", [1] = "WRITE" }

local kinds = { [0x80] = "HELLO", [0x81] = "WELCOME", [0x82] = "SEALED", [0x83] = "REFUSAL" }
local refusals = { [1] = "no key", [2] = "another key" }

local f = {
  packets = ProtoField.uint16("netblt.packets", "Packets in this datagram"),
  rest = ProtoField.bytes("netblt.rest", "Bytes that are no packet"),
  sealed_kind = ProtoField.uint8("netblt.sealed.kind", "Kind", base.HEX, kinds),
  client_salt = ProtoField.bytes("netblt.sealed.client_salt", "Salt of the client"),
  server_salt = ProtoField.bytes("netblt.sealed.server_salt", "Salt of the server"),
  session = ProtoField.bytes("netblt.sealed.session", "Session"),
  count = ProtoField.uint64("netblt.sealed.count", "Count"),
  content = ProtoField.bytes("netblt.sealed.content", "Sealed packet"),
  tag = ProtoField.bytes("netblt.sealed.tag", "Tag"),
  refusal = ProtoField.uint8("netblt.sealed.refusal", "Refusal", base.DEC, refusals),
  checksum = ProtoField.uint16("netblt.checksum", "Checksum", base.HEX),
  good = ProtoField.bool("netblt.checksum.good", "Checksum good"),
  version = ProtoField.uint8("netblt.version", "Version"),
  kind = ProtoField.uint8("netblt.type", "Type", base.DEC, types),
  length = ProtoField.uint16("netblt.length", "Length"),
  local_port = ProtoField.uint16("netblt.local_port", "Local port"),
  foreign_port = ProtoField.uint16("netblt.foreign_port", "Foreign port"),
  id = ProtoField.uint32("netblt.connection_id", "Connection unique ID", base.HEX),
  buffer_size = ProtoField.uint32("netblt.buffer_size", "Buffer size"),
  transfer_size = ProtoField.uint32("netblt.transfer_size", "Transfer size"),
  packet_size = ProtoField.uint16("netblt.data_packet_size", "DATA packet size"),
  burst_size = ProtoField.uint16("netblt.burst_size", "Burst size"),
  burst_interval = ProtoField.uint16("netblt.burst_interval", "Burst interval (ms)"),
  death_timer = ProtoField.uint16("netblt.death_timer", "Death timer (s)"),
  mode = ProtoField.uint16("netblt.mode", "Mode", base.DEC, modes, 0x0001),
  checksums_data = ProtoField.bool("netblt.checksum_data", "Data checksummed", 16, nil, 0x0002),
  max_buffers = ProtoField.uint16("netblt.max_outstanding", "Maximum outstanding buffers"),
  text = ProtoField.string("netblt.text", "Client string or reason"),
  buffer = ProtoField.uint32("netblt.buffer", "Buffer number"),
  high = ProtoField.uint16("netblt.high_consecutive", "High consecutive sequence number"),
  packet = ProtoField.uint16("netblt.packet", "Packet number"),
  data_checksum = ProtoField.uint16("netblt.data_checksum", "Data checksum", base.HEX),
  last = ProtoField.bool("netblt.last_buffer", "Last buffer", 16, nil, 0x0001),
  data = ProtoField.bytes("netblt.data", "Data"),
  message = ProtoField.uint8("netblt.message", "Control message", base.DEC, messages),
  sequence = ProtoField.uint16("netblt.sequence", "Sequence number"),
  control_timer = ProtoField.uint16("netblt.control_timer", "Control timer (ms)"),
  missing = ProtoField.uint16("netblt.missing", "Missing packet"),
}
netblt.fields = f

-- The ones' complement sum of a region is all ones if its checksum is good (RFC 998 section 5.1).
local function is_good(region)
  local sum = 0
  for at = 0, region:len() - 1 do
    sum = sum + region(at, 1):uint() * (at % 2 == 0 and 256 or 1)
  end
  while sum > 0xffff do sum = sum % 0x10000 + math.floor(sum / 0x10000) end
  return sum == 0xffff
end

local function dissect_open(b, tree)
  local fixed = {
    { f.id, 4 }, { f.buffer_size, 4 }, { f.transfer_size, 4 }, { f.packet_size, 2 },
    { f.burst_size, 2 }, { f.burst_interval, 2 }, { f.death_timer, 2 },
  }
  local at = 12
  for _, field in ipairs(fixed) do
    tree:add(field[1], b(at, field[2]))
    at = at + field[2]
  end
  tree:add(f.mode, b(32, 2))
  tree:add(f.checksums_data, b(32, 2))
  tree:add(f.max_buffers, b(34, 2))
  if b:len() > 36 then tree:add(f.text, b(36), b(36):stringz()) end
end

local function dissect_data(b, tree)
  tree:add(f.buffer, b(12, 4))
  tree:add(f.high, b(16, 2))
  tree:add(f.packet, b(18, 2))
  tree:add(f.data_checksum, b(20, 2))
  tree:add(f.last, b(22, 2))
  if b:len() > 24 then tree:add(f.data, b(24)) end
  return string.format(" buffer %u packet %u hc %u", b(12, 4):uint(), b(18, 2):uint(), b(16, 2):uint())
end

local function dissect_control(b, tree)
  local at, info = 12, ""
  while at + 8 <= b:len() do
    local kind, count, len = b(at, 1):uint(), 0, 8
    if kind == 1 then len = 16 end
    if kind == 2 then
      if at + 12 > b:len() then return info end
      count = b(at + 8, 2):uint()
      len = math.ceil((12 + 2 * count) / 4) * 4
    end
    if kind > 2 or at + len > b:len() then return info end
    local part = tree:add(f.message, b(at, 1))
    part:add(f.sequence, b(at + 2, 2))
    part:add(f.buffer, b(at + 4, 4))
    if kind == 1 then
      part:add(f.burst_size, b(at + 8, 2))
      part:add(f.burst_interval, b(at + 10, 2))
      part:add(f.control_timer, b(at + 12, 2))
    end
    for n = 0, count - 1 do part:add(f.missing, b(at + 12 + 2 * n, 2)) end
    info = info .. string.format(" %u:%s(%u)", b(at + 2, 2):uint(), messages[kind], b(at + 4, 4):uint())
    at = at + len
  end
  return info
end

-- The packet at the start of a region: its bytes with padding, and a line. Nothing if it is none.
local function dissect_packet(buffer, root)
  if buffer:len() < 12 then return 0 end
  local kind, length = buffer(3, 1):uint(), buffer(4, 2):uint()
  if not types[kind] or length < 12 or length > buffer:len() then return 0 end
  local is_data = kind == 6 or kind == 7
  local least = (kind <= 1 and 36) or (is_data and 24) or (kind == 8 and 20) or 12
  if length < least then return 0 end
  local padded = math.min(math.ceil(length / 4) * 4, buffer:len())
  local b = buffer(0, length):tvb()
  local tree = root:add(netblt, buffer(0, padded))
  tree:add(f.checksum, b(0, 2))
  tree:add(f.good, is_good(b(0, is_data and 24 or length))):set_generated()
  tree:add(f.version, b(2, 1))
  tree:add(f.kind, b(3, 1))
  tree:add(f.length, b(4, 2))
  tree:add(f.local_port, b(6, 2))
  tree:add(f.foreign_port, b(8, 2))
  local info = ""
  if kind <= 1 then
    dissect_open(b, tree)
  elseif is_data then
    info = dissect_data(b, tree)
  elseif kind == 8 then
    tree:add(f.high, b(12, 2))
    tree:add(f.burst_size, b(14, 2))
    tree:add(f.burst_interval, b(16, 2))
  elseif kind == 9 then
    info = dissect_control(b, tree)
  elseif (kind == 3 or kind == 5 or kind == 10) and length > 12 then
    tree:add(f.text, b(12), b(12):stringz())
  end
  return padded, string.format("%u > %u %s%s", b(6, 2):uint(), b(8, 2):uint(), types[kind], info)
end

-- The same for a sealed one. Its length is not in it: in a datagram of many the next one begins with
-- the same twelve bytes.
local function dissect_sealed(buffer, root)
  if buffer:len() < 4 or buffer(0, 3):string() ~= "NBe" or buffer(3, 1):uint() < 0x80 then return 0 end
  local kind, len = buffer(3, 1):uint(), buffer:len()
  if kind == 0x82 and len >= 36 then
    local bytes = buffer:raw()
    local next = bytes:find(bytes:sub(1, 12), 13, true)
    if next then len = next - 1 end
  end
  local tree = root:add(netblt, buffer(0, len), "NETBLT Bulk Data Transfer, sealed")
  tree:add(f.sealed_kind, buffer(3, 1))
  local info = kinds[kind] or "unknown kind"
  if (kind == 0x80 or kind == 0x81) and len == 52 then
    tree:add(f.client_salt, buffer(4, 16))
    if kind == 0x81 then tree:add(f.server_salt, buffer(20, 16)) end
    tree:add(f.tag, buffer(36, 16))
  elseif kind == 0x82 and len >= 36 then
    tree:add(f.session, buffer(4, 8))
    tree:add(f.count, buffer(12, 8))
    if len > 36 then tree:add(f.content, buffer(20, len - 36)) end
    tree:add(f.tag, buffer(len - 16, 16))
    info = info .. string.format(" %s, %u bytes", buffer(12, 8):uint64(), len - 36)
  elseif kind == 0x83 and len == 24 then
    tree:add(f.refusal, buffer(4, 1))
    tree:add(f.client_salt, buffer(8, 16))
    info = info .. ": " .. (refusals[buffer(4, 1):uint()] or "unknown")
  elseif len > 4 then
    tree:add(f.rest, buffer(4))
  end
  return len, info
end

function netblt.dissector(buffer, pinfo, root)
  local at, count, first, last = 0, 0, nil, nil
  while at < buffer:len() do
    local rest = at == 0 and buffer or buffer(at):tvb()
    local len, info = dissect_sealed(rest, root)
    if len == 0 then len, info = dissect_packet(rest, root) end
    if len == 0 then break end
    at, count, first, last = at + len, count + 1, first or info, info
  end
  if count == 0 then return 0 end
  if count > 1 then
    local tree = root:add(netblt, buffer(), "NETBLT Bulk Data Transfer, cut apart later by the kernel")
    tree:add(f.packets, count):set_generated()
  end
  if at < buffer:len() then root:add(f.rest, buffer(at)) end
  pinfo.cols.protocol = "NETBLT"
  pinfo.cols.info = count == 1 and first or string.format("%u packets: %s ... %s", count, first, last)
  return buffer:len()
end

DissectorTable.get("ip.proto"):add(30, netblt)
DissectorTable.get("udp.port"):add(20030, netblt)
