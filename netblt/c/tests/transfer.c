/* Serves a folder, sends a file there, fetches it in every way, and does what is wrong; for tests/program.rs.
 *
 * transfer FOLDER FILE: FILE is sent to FOLDER/there, fetched to FILE.back, and its digests are printed. */
#include "netblt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int heard;

/* Ends the program with the words of what is not as it should be. */
static void expect(const char *what, netblt_status status, netblt_status expected) {
    if (status != expected) {
        fprintf(stderr, "%s: status %d, not %d: %s\n", what, (int)status, (int)expected,
                netblt_last_error());
        exit(1);
    }
    if ((status == NETBLT_OK) != (netblt_last_error()[0] == '\0')) {
        fprintf(stderr, "%s: status %d with the words \"%s\"\n", what, (int)status,
                netblt_last_error());
        exit(1);
    }
}

static int watch(netblt_progress *progress, void *context) {
    heard += 1;
    if (progress->done_bytes > progress->total_bytes) {
        exit(1);
    }
    return *(int *)context;
}

static void print(const char *what, const netblt_outcome *outcome) {
    printf("%s %llu %s\n", what, (unsigned long long)outcome->payload_bytes, outcome->digest);
}

static void refuse(const char *host, const char *file, netblt_options *options) {
    uint8_t *bytes = NULL;
    size_t len = 0;
    char small[4];
    int cancel = 1;
    netblt_outcome outcome;
    netblt_server *server = NULL;

    memset(&outcome, 7, sizeof outcome);
    expect("no host", netblt_send_file(NULL, file, "x", NULL, NULL, NULL, &outcome),
           NETBLT_INVALID_ARGUMENT);
    if (outcome.payload_bytes != 0 || outcome.digest[0] != '\0') {
        fprintf(stderr, "an outcome of nothing\n");
        exit(1);
    }
    expect("no path", netblt_send_file(host, NULL, "x", NULL, NULL, NULL, NULL),
           NETBLT_INVALID_ARGUMENT);
    expect("no name", netblt_fetch_file(host, NULL, file, NULL, NULL, NULL, NULL),
           NETBLT_INVALID_ARGUMENT);
    expect("no bytes", netblt_send_bytes(host, NULL, 1, "x", NULL, NULL, NULL, NULL),
           NETBLT_INVALID_ARGUMENT);
    expect("no place", netblt_fetch_bytes(host, "x", 1, NULL, &len, NULL, NULL, NULL, NULL),
           NETBLT_INVALID_ARGUMENT);
    expect("no options", netblt_options_set_raw_ip(NULL, 1), NETBLT_INVALID_ARGUMENT);
    expect("no digits", netblt_options_set_key(options, NULL), NETBLT_INVALID_ARGUMENT);
    expect("no server", netblt_server_address(NULL, small, sizeof small), NETBLT_INVALID_ARGUMENT);
    expect("no folder", netblt_server_start(NULL, NULL, &server), NETBLT_INVALID_ARGUMENT);
    expect("no such folder", netblt_server_start("/nowhere/at/all", NULL, &server),
           NETBLT_CANNOT_READ);
    expect("a phrase", netblt_options_set_key(options, "open sesame"), NETBLT_INVALID_ARGUMENT);
    expect("no rate", netblt_options_set_rate(options, NETBLT_FIXED, 0), NETBLT_INVALID_ARGUMENT);
    expect("no such file", netblt_send_file(host, "/nowhere", "x", NULL, NULL, NULL, NULL),
           NETBLT_CANNOT_READ);
    expect("is here", netblt_fetch_file(host, "there", file, NULL, NULL, NULL, NULL),
           NETBLT_EXISTS);
    expect("is there", netblt_send_file(host, file, "there", NULL, NULL, NULL, NULL),
           NETBLT_REFUSED);
    expect("too large", netblt_fetch_bytes(host, "there", 1, &bytes, &len, NULL, NULL, NULL, NULL),
           NETBLT_GAVE_UP);
    heard = 0;
    expect("cancelled", netblt_send_file(host, file, "other", NULL, watch, &cancel, NULL),
           NETBLT_CANCELLED);
    if (bytes != NULL || server != NULL || heard == 0) {
        fprintf(stderr, "something of a call that failed\n");
        exit(1);
    }
    netblt_bytes_free(NULL, 0);
    netblt_options_free(NULL);
    expect("nothing to stop", netblt_server_stop(NULL), NETBLT_OK);
}

int main(int count, char **arguments) {
    netblt_server *server;
    netblt_outcome outcome;
    netblt_options *options = netblt_options_new();
    char host[64], back[4096], small[4];
    uint8_t *bytes;
    size_t len;
    int go_on = 0;

    if (count != 3 || netblt_version()[0] == '\0') {
        return 2;
    }
    expect("listen", netblt_options_set_listen(options, "127.0.0.1:0"), NETBLT_OK);
    expect("start", netblt_server_start(arguments[1], options, &server), NETBLT_OK);
    expect("small", netblt_server_address(server, small, sizeof small), NETBLT_INVALID_ARGUMENT);
    expect("address", netblt_server_address(server, host, sizeof host), NETBLT_OK);
    expect("cap", netblt_server_cap_rate(server, 5e9), NETBLT_OK);

    expect("send", netblt_send_file(host, arguments[2], "there", NULL, watch, &go_on, &outcome),
           NETBLT_OK);
    print("sent", &outcome);
    snprintf(back, sizeof back, "%s.back", arguments[2]);
    expect("scavenge", netblt_options_set_rate(options, NETBLT_SCAVENGING, 0), NETBLT_OK);
    expect("fetch", netblt_fetch_file(host, "there", back, options, watch, &go_on, &outcome),
           NETBLT_OK);
    print("fetched", &outcome);
    if (heard == 0 || !outcome.confirmed) {
        return 1;
    }
    expect("fetch bytes",
           netblt_fetch_bytes(host, "there", 1 << 30, &bytes, &len, NULL, NULL, NULL, &outcome),
           NETBLT_OK);
    print("in memory", &outcome);
    expect("scavenging is not L4S", netblt_options_set_l4s(options, 1), NETBLT_OK);
    expect("both", netblt_send_bytes(host, bytes, len, "again", options, NULL, NULL, NULL),
           NETBLT_INVALID_ARGUMENT);
    expect("compete", netblt_options_set_rate(options, NETBLT_COMPETING, 0), NETBLT_OK);
    expect("send bytes", netblt_send_bytes(host, bytes, len, "again", options, NULL, NULL, &outcome),
           NETBLT_OK);
    print("again", &outcome);
    netblt_bytes_free(bytes, len);

    refuse(host, arguments[2], options);
    expect("stop", netblt_server_stop(server), NETBLT_OK);
    netblt_options_free(options);
    return 0;
}
