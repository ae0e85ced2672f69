// The scenario of netanvil's simulator benchmark in ns-3: so many frames of 64 bytes at line rate
// over a link of 10 Gb/s into a node that stores and forwards them, and over a second link to
// their receiver.
//
//   store_and_forward node|router FRAMES
//
// "node" is the least that ns-3 can do: the middle node hands each packet that its device gives it
// to the other device, without any stack. "router" is a node with ns-3's IPv4 stack between two
// hosts that speak UDP; without queueing disciplines, which only cost time here.
//
// Prints frames received and the processor time from the first event to the last.
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include <ctime>
#include <iostream>
#include <string>

using namespace ns3;

namespace
{

// 64 bytes and 20 of preamble and gap at 10 Gb/s. Made when asked for: before the resolution is
// set, a Time is rounded to nanoseconds.
Time
Period()
{
    return PicoSeconds(67200);
}

// A PPP header is 2 bytes long; with it the frame has 64.
const uint32_t PACKET_BYTES = 62;
const uint32_t IP_AND_UDP_BYTES = 28;

uint64_t g_received = 0;
Time g_latency_sum;

double
ProcessorSeconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

NetDeviceContainer
Link(Ptr<Node> from, Ptr<Node> to)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate("10Gbps")));
    link.SetDeviceAttribute("InterframeGap", TimeValue(PicoSeconds(16000)));
    link.SetChannelAttribute("Delay", TimeValue(Time(0)));
    return link.Install(from, to);
}

// The frame's latency is kept, as the tester keeps it: by the time it was made.
struct SendTime : public Tag
{
    Time at;
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("SendTime").SetParent<Tag>().AddConstructor<SendTime>();
        return id;
    }
    TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    uint32_t GetSerializedSize() const override { return 8; }
    void Serialize(TagBuffer i) const override { i.WriteU64(at.GetTimeStep()); }
    void Deserialize(TagBuffer i) override { at = TimeStep(i.ReadU64()); }
    void Print(std::ostream& os) const override { os << at; }
};

void
Arrived(Ptr<const Packet> packet)
{
    SendTime sent;
    if (packet->PeekPacketTag(sent))
    {
        g_latency_sum += Simulator::Now() - sent.at;
    }
    g_received++;
}

Ptr<Packet>
MakePacket(uint32_t bytes)
{
    Ptr<Packet> packet = Create<Packet>(bytes);
    SendTime tag;
    tag.at = Simulator::Now();
    packet->AddPacketTag(tag);
    return packet;
}

template <typename Send>
void
SendAll(Send send, uint64_t left)
{
    send();
    if (left > 1)
    {
        Simulator::Schedule(Period(), [send, left] { SendAll(send, left - 1); });
    }
}

void
RunNode(NodeContainer nodes, uint64_t frames)
{
    NetDeviceContainer in = Link(nodes.Get(0), nodes.Get(1));
    NetDeviceContainer out = Link(nodes.Get(1), nodes.Get(2));
    Ptr<NetDevice> sender = in.Get(0);
    Ptr<NetDevice> onward = out.Get(0);
    in.Get(1)->SetReceiveCallback(NetDevice::ReceiveCallback(
        [onward](Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t protocol, const Address&) {
            return onward->Send(packet->Copy(), onward->GetBroadcast(), protocol);
        }));
    out.Get(1)->SetReceiveCallback(NetDevice::ReceiveCallback(
        [](Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&) {
            Arrived(packet);
            return true;
        }));
    Simulator::Schedule(Time(0), [sender, frames] {
        SendAll([sender] { sender->Send(MakePacket(PACKET_BYTES), sender->GetBroadcast(), 0x0800); },
                frames);
    });
    Simulator::Run();
}

void
RunRouter(NodeContainer nodes, uint64_t frames)
{
    NetDeviceContainer in = Link(nodes.Get(0), nodes.Get(1));
    NetDeviceContainer out = Link(nodes.Get(1), nodes.Get(2));
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("198.18.0.0", "255.255.255.0");
    addresses.Assign(in);
    addresses.SetBase("198.19.0.0", "255.255.255.0");
    Ipv4InterfaceContainer far = addresses.Assign(out);
    TrafficControlHelper queues;
    queues.Uninstall(in);
    queues.Uninstall(out);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Ptr<Socket> sink = Socket::CreateSocket(nodes.Get(2), UdpSocketFactory::GetTypeId());
    sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
    sink->SetRecvCallback(Callback<void, Ptr<Socket>>([](Ptr<Socket> socket) {
        while (Ptr<Packet> packet = socket->Recv())
        {
            Arrived(packet);
        }
    }));
    Ptr<Socket> source = Socket::CreateSocket(nodes.Get(0), UdpSocketFactory::GetTypeId());
    source->Connect(InetSocketAddress(far.GetAddress(1), 9));
    Simulator::Schedule(Time(0), [source, frames] {
        SendAll([source] { source->Send(MakePacket(PACKET_BYTES - IP_AND_UDP_BYTES)); }, frames);
    });
    Simulator::Run();
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 3)
    {
        std::cerr << "usage: store_and_forward node|router FRAMES" << std::endl;
        return 2;
    }
    const std::string scenario = argv[1];
    const uint64_t frames = std::stoull(argv[2]);
    Time::SetResolution(Time::PS);
    NodeContainer nodes;
    nodes.Create(3);
    const double start = ProcessorSeconds();
    scenario == "router" ? RunRouter(nodes, frames) : RunNode(nodes, frames);
    const double took = ProcessorSeconds() - start;
    std::cout << "{\"received_frames\": " << g_received << ", \"processor_s\": " << took
              << ", \"mean_latency_ps\": "
              << (g_received ? g_latency_sum.GetPicoSeconds() / int64_t(g_received) : 0) << "}"
              << std::endl;
    Simulator::Destroy();
    return 0;
}
