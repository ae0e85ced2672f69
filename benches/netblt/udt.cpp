// One end of a UDT transfer, by the library of the distribution (libudt-dev) with its defaults.
//
// Usage: udt-rival serve                            takes one transfer on PORT, then ends
//        udt-rival send ADDRESS BYTES SECONDS       prints the bytes that the other end has, and seconds
//
// A transfer is a row of blocks; the first byte of each says whether it is the last. The server answers the last
// one with the number of bytes that came.

#include <udt/udt.h>

#include <arpa/inet.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static const int PORT = 9020;
static const int BLOCK_BYTES = 64000;

static void must(bool good, const char *what)
{
	if (good)
		return;
	std::fprintf(stderr, "udt-rival: %s: %s\n", what, UDT::getlasterror().getErrorMessage());
	std::exit(2);
}

static sockaddr_in address(const char *text)
{
	sockaddr_in at = {};
	at.sin_family = AF_INET;
	at.sin_port = htons(PORT);
	must(inet_pton(AF_INET, text, &at.sin_addr) == 1, "read the address");
	return at;
}

static void send_all(UDTSOCKET socket, const char *data, int bytes)
{
	for (int done = 0; done < bytes;) {
		int sent = UDT::send(socket, data + done, bytes - done, 0);
		must(sent != UDT::ERROR, "send");
		done += sent;
	}
}

static void receive_all(UDTSOCKET socket, char *data, int bytes)
{
	for (int done = 0; done < bytes;) {
		int came = UDT::recv(socket, data + done, bytes - done, 0);
		must(came != UDT::ERROR, "receive");
		done += came;
	}
}

static void serve()
{
	UDTSOCKET listener = UDT::socket(AF_INET, SOCK_STREAM, 0);
	sockaddr_in any = address("0.0.0.0");
	must(UDT::bind(listener, (sockaddr *)&any, sizeof(any)) != UDT::ERROR, "bind");
	must(UDT::listen(listener, 1) != UDT::ERROR, "listen");
	std::puts("listening");
	std::fflush(stdout);
	UDTSOCKET socket = UDT::accept(listener, nullptr, nullptr);
	must(socket != UDT::INVALID_SOCK, "accept");
	std::vector<char> block(BLOCK_BYTES);
	uint64_t bytes = 0;
	do {
		receive_all(socket, block.data(), BLOCK_BYTES);
		bytes += BLOCK_BYTES;
	} while (!block[0]);
	send_all(socket, (const char *)&bytes, sizeof(bytes));
	UDT::close(socket);
}

static void send(const char *to, double bytes, double seconds)
{
	using Clock = std::chrono::steady_clock;
	UDTSOCKET socket = UDT::socket(AF_INET, SOCK_STREAM, 0);
	sockaddr_in server = address(to);
	must(UDT::connect(socket, (sockaddr *)&server, sizeof(server)) != UDT::ERROR, "connect");
	std::vector<char> block(BLOCK_BYTES, 0);
	auto begin = Clock::now();
	auto elapsed_s = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
	double sent = 0;
	do {
		sent += BLOCK_BYTES;
		block[0] = sent >= bytes || elapsed_s() >= seconds;
		send_all(socket, block.data(), BLOCK_BYTES);
	} while (!block[0]);
	uint64_t came = 0;
	receive_all(socket, (char *)&came, sizeof(came));
	std::printf("%llu %f\n", (unsigned long long)came, elapsed_s());
	UDT::close(socket);
}

int main(int count, char **words)
{
	UDT::startup();
	if (count == 2 && !std::strcmp(words[1], "serve"))
		serve();
	else if (count == 5 && !std::strcmp(words[1], "send"))
		send(words[2], std::atof(words[3]), std::atof(words[4]));
	else {
		std::fputs("usage: udt-rival serve | udt-rival send ADDRESS BYTES SECONDS\n", stderr);
		return 2;
	}
	UDT::cleanup();
	return 0;
}
