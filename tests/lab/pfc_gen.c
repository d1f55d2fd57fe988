/*
 * pfc_gen IFACE PRIORITY COUNT [QUANTA] - send PFC frames by an interface, as a paused switch or
 * host would.
 *
 * The frame: destination 01-80-C2-00-00-01, type 0x8808, opcode 0x0101, class-enable vector, eight
 * pause times of 512 bit times each; padded to 60 bytes (IEEE 802.1Q, Priority-based Flow Control;
 * IEEE 802.3 31B). Needs CAP_NET_RAW. Test code.
 */
#include <arpa/inet.h>
#include <err.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
	if (argc < 4 || argc > 5)
		errx(2, "usage: pfc_gen IFACE PRIORITY COUNT [QUANTA]");
	const long priority = strtol(argv[2], NULL, 10), count = strtol(argv[3], NULL, 10),
		   quanta = argc == 5 ? strtol(argv[4], NULL, 10) : 65535;
	if (priority < 0 || priority > 7 || count < 1 || quanta < 0 || quanta > 65535)
		errx(2, "PRIORITY is 0..7, COUNT at least 1, QUANTA 0..65535");
	const int fd = socket(AF_PACKET, SOCK_RAW, 0);
	struct ifreq ifr = {0};
	strncpy(ifr.ifr_name, argv[1], IFNAMSIZ - 1);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &ifr))
		err(1, "%s", argv[1]);
	unsigned char frame[60] = {0x01, 0x80, 0xc2, 0, 0, 1};
	memcpy(frame + 6, ifr.ifr_hwaddr.sa_data, 6);
	frame[12] = 0x88, frame[13] = 0x08, frame[14] = 0x01, frame[15] = 0x01;
	frame[17] = (unsigned char)(1u << priority);
	frame[18 + 2 * priority] = (unsigned char)(quanta >> 8);
	frame[19 + 2 * priority] = (unsigned char)quanta;
	const struct sockaddr_ll to = {
		.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(argv[1])};
	for (long i = 0; i < count; i++) {
		if (sendto(fd, frame, sizeof(frame), 0, (const struct sockaddr *)&to, sizeof(to)) !=
			sizeof(frame))
			err(1, "send");
		if (i % 100 == 99)
			poll(NULL, 0, 1); /* lets a receiver with a small buffer keep up */
	}
	return 0;
}
