-- NETBLT (RFC 998) for Wireshark and tshark: over IP protocol 30, and over UDP port 20030.
-- tshark -X lua_script:netblt.lua -r trace.pcapng

local netblt = Proto("netblt", "NETBLT Bulk Data Transfer")

local types = {
  [0] = "OPEN", [1] = "RESPONSE", [2] = "KEEPALIVE", [3] = "QUIT", [4] = "QUITACK", [5] = "ABORT",
  [6] = "DATA", [7] = "LDATA", [8] = "NULL-ACK", [9] = "CONTROL", [10] = "REFUSED", [11] = "DONE",
}
local messages = { [0] = "GO", [1] = "OK", [2] = "RESEND" }
local modes = { [0] = "READ", [1] = "WRITE" }

local f = {
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

function netblt.dissector(buffer, pinfo, root)
  if buffer:len() < 12 then return 0 end
  local kind, length = buffer(3, 1):uint(), buffer(4, 2):uint()
  if not types[kind] or length < 12 or length > buffer:len() then return 0 end
  local is_data = kind == 6 or kind == 7
  local least = (kind <= 1 and 36) or (is_data and 24) or (kind == 8 and 20) or 12
  if length < least then return 0 end
  local b = buffer(0, length):tvb()
  local tree = root:add(netblt, buffer())
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
  pinfo.cols.protocol = "NETBLT"
  pinfo.cols.info = string.format("%u > %u %s%s", b(6, 2):uint(), b(8, 2):uint(), types[kind], info)
  return buffer:len()
end

DissectorTable.get("ip.proto"):add(30, netblt)
DissectorTable.get("udp.port"):add(20030, netblt)
