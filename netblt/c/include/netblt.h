/*
 * netblt.h: send, fetch and serve files by NETBLT (RFC 998).
 *
 * Link with -lnetanvil_netblt, or: cc program.c $(pkg-config --cflags --libs netanvil-netblt)
 *
 * Calls block the thread that makes them; the library starts threads of its own and ends them. A callback
 * hears how far a transfer is, may change its bound on the rate, and may cancel it.
 *
 * Errors: functions return NETBLT_OK or another netblt_status; netblt_last_error() then has the words, with
 * what mends it. A pointer that may be NULL says so; any other NULL gives NETBLT_INVALID_ARGUMENT.
 *
 * Threads: any function may be called in any thread, several at once. One netblt_options may be used by
 * several calls at once as long as no thread changes or frees it meanwhile; netblt_server likewise.
 *
 * Ownership: the library copies what it is given, and keeps no pointer after a call. What it gives, and has a
 * function to free it, is the caller's.
 *
 * Texts end with a zero. Paths are in the bytes of the system; all other texts are UTF-8.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef NETBLT_H
#define NETBLT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended. */
typedef enum netblt_status {
    NETBLT_OK = 0,
    NETBLT_INVALID_ARGUMENT = 1, /* a pointer is NULL, or an option cannot be meant */
    NETBLT_UNKNOWN_HOST = 2,     /* the host has no address */
    NETBLT_SOCKET = 3,           /* no socket: no permission, or the address is in use */
    NETBLT_CANNOT_READ = 4,      /* a file or folder cannot be read */
    NETBLT_CANNOT_WRITE = 5,     /* a file cannot be written here */
    NETBLT_EXISTS = 6,           /* the file is here already, and may not be overwritten */
    NETBLT_NOT_TRUSTED = 7,      /* a server would be open to other hosts without a key */
    NETBLT_NO_ANSWER = 8,        /* nobody answers */
    NETBLT_OTHER_KEY = 9,        /* the other end has another key, or none */
    NETBLT_REFUSED = 10,         /* the server does not want this transfer */
    NETBLT_SILENT = 11,          /* the other end fell silent */
    NETBLT_PEER_GAVE_UP = 12,    /* the other end gave up */
    NETBLT_GAVE_UP = 13,         /* this end gave up: mostly a file that cannot be written any more */
    NETBLT_CANCELLED = 14,       /* the callback cancelled it */
    NETBLT_SYSTEM = 15,          /* this host's network or system does not work */
    NETBLT_DEFECT = 16           /* a defect of this library */
} netblt_status;

/* How the end that sends finds its rate. */
typedef enum netblt_rate {
    NETBLT_COMPETING = 0,  /* takes about what a TCP would take */
    NETBLT_SCAVENGING = 1, /* leaves the path to others: takes what TCP does not use */
    NETBLT_FIXED = 2       /* slows down for nobody: only for paths that are yours */
} netblt_rate;

/* What transfers and servers are to be like. */
typedef struct netblt_options netblt_options;
/* A folder that is served in the background. */
typedef struct netblt_server netblt_server;

/* How far a transfer is. */
typedef struct netblt_progress {
    uint64_t done_bytes;       /* that arrived */
    uint64_t total_bytes;      /* in all; 0 before both ends have agreed */
    uint64_t repeated_packets; /* sent again, or asked for again */
    double at_most_bps;        /* bound on the rate in bits a second, 0 for none; the callback may change it */
} netblt_progress;

/*
 * Called about every 50 ms in the thread that waits for the transfer. Return 0 to go on; anything else cancels
 * the transfer, and the other end hears of it. `progress` lives during the call. It may not leave by longjmp or
 * by an exception.
 */
typedef int (*netblt_progress_fn)(netblt_progress *progress, void *context);

/* What a transfer came to. All zeros if it is not complete. */
typedef struct netblt_outcome {
    uint64_t payload_bytes;       /* of the file, moved by this transfer */
    double elapsed_s;             /* from the first packet to the end */
    uint64_t packets_sent;        /* of NETBLT, of any type */
    uint64_t packets_received;    /* likewise */
    uint64_t data_packets_resent; /* where this end sent */
    uint64_t packets_asked_again; /* where this end received */
    int confirmed;                /* 0: all arrived, but the other end fell silent at the very end */
    char digest[65];              /* BLAKE3 of the whole file, verified: hexadecimal digits and a zero */
} netblt_outcome;

/* The version of the library. It lives for ever. */
const char *netblt_version(void);

/* What the last call in this thread came to: empty if it succeeded. It lives until the next call in this
 * thread; calls in other threads do not change it. Never NULL. */
const char *netblt_last_error(void);

/* Options with safe defaults: UDP, no key, NETBLT_COMPETING, resuming, nothing overwritten; servers listen on
 * 127.0.0.1:20030. The caller frees them. Never NULL. */
netblt_options *netblt_options_new(void);
/* Frees options, which no call may use any more. NULL is no error. */
void netblt_options_free(netblt_options *options);

/* Seals all packets with a key: 64 hexadecimal digits, the same at both ends (openssl rand -hex 32). */
netblt_status netblt_options_set_key(netblt_options *options, const char *digits);
/* The same by a short code such as 7KQM-2XWD, which `netanvil netblt serve --code` prints: it leads to a key of its own
 * each time. It takes the place of a key, and a key that of a code. */
netblt_status netblt_options_set_code(netblt_options *options, const char *code);
/* `rate` is a netblt_rate; bits_per_s is the most that may be found, 0 for no bound, or the fixed rate. */
netblt_status netblt_options_set_rate(netblt_options *options, int rate, double bits_per_s);
/* Not 0: ask the network for early marks (L4S, RFC 9331) and slow down by their share, with NETBLT_COMPETING. */
netblt_status netblt_options_set_l4s(netblt_options *options, int on);
/* Not 0: IP protocol 30 in place of UDP. Takes root, or CAP_NET_RAW, and no key. */
netblt_status netblt_options_set_raw_ip(netblt_options *options, int on);
/* 0: begin anew in place of going on where an earlier attempt broke off. */
netblt_status netblt_options_set_resume(netblt_options *options, int on);
/* Not 0: replace a file that is there, when it is fetched; at a server, let others do so. */
netblt_status netblt_options_set_overwrite(netblt_options *options, int on);
/* Seconds of silence after which the other end counts as dead; 0 for never. Default 30. */
netblt_status netblt_options_set_death_timer(netblt_options *options, uint16_t seconds);
/* NETBLT port of the server (not the UDP port). Default 30. */
netblt_status netblt_options_set_port(netblt_options *options, uint16_t port);
/* Where a server listens: ADDRESS:PORT, port 0 for any. */
netblt_status netblt_options_set_listen(netblt_options *options, const char *address);
/* Not 0: serve other hosts without a key. Whoever can send to the address can read and write. */
netblt_status netblt_options_set_trust(netblt_options *options, int on);
/* What others may do at a server; both by default. */
netblt_status netblt_options_set_access(netblt_options *options, int readable, int writable);

/*
 * The transfers. `host` is a name or an address, with :PORT for another UDP port than 20030. `options`, `progress`,
 * `context` and `outcome` may be NULL; `context` is given to `progress` as it is, and `outcome` is written before the
 * call returns. They return when the transfer is over and the other end needs nothing more.
 */

/* Sends the file at `path` under `name`. */
netblt_status netblt_send_file(const char *host, const char *path, const char *name,
                               const netblt_options *options, netblt_progress_fn progress,
                               void *context, netblt_outcome *outcome);
/* Fetches the file `name` to `path`, which appears once it is whole, verified and on the disk. */
netblt_status netblt_fetch_file(const char *host, const char *name, const char *path,
                                const netblt_options *options, netblt_progress_fn progress,
                                void *context, netblt_outcome *outcome);
/* Sends `len_bytes` bytes as a file under `name`. `bytes` may be NULL if there are none. */
netblt_status netblt_send_bytes(const char *host, const uint8_t *bytes, size_t len_bytes,
                                const char *name, const netblt_options *options,
                                netblt_progress_fn progress, void *context,
                                netblt_outcome *outcome);
/* Fetches the file `name` of at most `most_bytes` into memory. The caller frees *bytes, by netblt_bytes_free; it is
 * NULL if the call fails. */
netblt_status netblt_fetch_bytes(const char *host, const char *name, uint64_t most_bytes,
                                 uint8_t **bytes, size_t *len_bytes,
                                 const netblt_options *options, netblt_progress_fn progress,
                                 void *context, netblt_outcome *outcome);
/* Frees what netblt_fetch_bytes gave; `len_bytes` is the length that it gave. NULL is no error. */
void netblt_bytes_free(uint8_t *bytes, size_t len_bytes);

/* Serves `folder` in the background until netblt_server_stop: others read and write there, and never leave it.
 * `options` may be NULL. The caller stops *server; it is NULL if the call fails. */
netblt_status netblt_server_start(const char *folder, const netblt_options *options,
                                  netblt_server **server);
/* Writes where it listens into `address`, of `size_bytes` bytes, as a transfer's `host` is to be. 64 are enough. */
netblt_status netblt_server_address(const netblt_server *server, char *address,
                                    size_t size_bytes);
/* From now on all connections together send at most so many bits a second. */
netblt_status netblt_server_cap_rate(const netblt_server *server, double bits_per_s);
/* Ends and frees a server, which no call may use any more: whoever is connected is told, and what arrived is kept.
 * It takes two seconds at most. NULL is no error. */
netblt_status netblt_server_stop(netblt_server *server);

#ifdef __cplusplus
}
#endif

#endif
