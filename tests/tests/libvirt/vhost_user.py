# A vhost-user-scsi back end that QEMU starts with: SOCKET STATUS. It answers each request of the guest by "no such
# target", and keeps in STATUS how much memory it was given and how many requests it has answered. It ends with its
# standard input.
import json, mmap, os, select, socket, struct, sys, threading

PATH, STATUS = sys.argv[1:3]
VERSION_1, PROTOCOL_FEATURES = 1 << 32, 1 << 30
MQ, REPLY_ACK = 1 << 0, 1 << 3
NO_FD = 1 << 8
NEXT, WRITE = 1, 2
BAD_TARGET = 3


def lifeline():
    while os.read(0, 64):
        pass
    os._exit(0)


class Ring:
    def __init__(self):
        self.num, self.at, self.addr, self.kick, self.call = 0, 0, None, None, None


class Backend:
    def __init__(self):
        self.regions, self.rings, self.answered = [], {}, 0

    def tell(self):
        seen = {"memory": sum(size for _, size, _, _ in self.regions), "answered": self.answered}
        with open(STATUS + ".new", "w") as out:
            json.dump(seen, out)
        os.rename(STATUS + ".new", STATUS)

    def forget(self):
        # What is mapped or open here keeps the guest's pages from the host.
        for _, _, _, mapped in self.regions:
            mapped[0].close()
        self.regions = []

    def memory(self, body, fds):
        self.forget()
        for index in range(struct.unpack_from("<I", body)[0]):
            guest, size, user, offset = struct.unpack_from("<4Q", body, 8 + 32 * index)
            mapped = mmap.mmap(fds[index], size + offset)
            self.regions.append((guest, size, user, (mapped, offset)))
        for fd in fds:
            os.close(fd)
        self.tell()

    def at(self, address, is_guest=True):
        for guest, size, user, (mapped, offset) in self.regions:
            base = guest if is_guest else user
            if base <= address < base + size:
                return mapped, offset + address - base
        raise ValueError(f"no region holds {address:#x}")

    def serve(self, ring):
        desc, used, avail = ring.addr
        mapped, avail = self.at(avail, False)
        table, desc = self.at(desc, False)
        done, used = self.at(used, False)
        while ring.at != struct.unpack_from("<H", mapped, avail + 2)[0]:
            head = struct.unpack_from("<H", mapped, avail + 4 + 2 * (ring.at % ring.num))[0]
            self.answer(table, desc, head)
            index = struct.unpack_from("<H", done, used + 2)[0]
            struct.pack_into("<II", done, used + 4 + 8 * (index % ring.num), head, 108)
            struct.pack_into("<H", done, used + 2, (index + 1) & 0xFFFF)
            ring.at = (ring.at + 1) & 0xFFFF
            self.answered += 1
        if ring.call is not None:
            os.write(ring.call, struct.pack("<Q", 1))
        self.tell()

    def answer(self, table, desc, head):
        while True:
            address, _, flags, following = struct.unpack_from("<QIHH", table, desc + 16 * head)
            if flags & WRITE:
                memory, place = self.at(address)
                memory[place + 11] = BAD_TARGET
                return
            if not flags & NEXT:
                return
            head = following

    def reply(self, request, body, fds):
        number = struct.unpack_from("<Q", body)[0] if len(body) >= 8 else 0
        index, value = struct.unpack_from("<II", body) if len(body) >= 8 else (0, 0)
        ring = lambda at: self.rings.setdefault(at, Ring())
        if request == 1:
            return struct.pack("<Q", VERSION_1 | PROTOCOL_FEATURES)
        if request == 15:
            return struct.pack("<Q", MQ | REPLY_ACK)
        if request == 17:
            return struct.pack("<Q", 16)
        if request == 5:
            self.memory(body, fds)
        elif request == 8:
            ring(index).num = value
        elif request == 9:
            desc, used, avail = struct.unpack_from("<3Q", body, 8)
            ring(index).addr = (desc, used, avail)
        elif request == 10:
            ring(index).at = value
        elif request == 11:
            ring(index).kick = None
            return struct.pack("<II", index, ring(index).at)
        elif request == 12:
            ring(number & 0xFF).kick = None if number & NO_FD else fds[0]
        elif request == 13:
            ring(number & 0xFF).call = None if number & NO_FD else fds[0]
        return None

    def message(self, link):
        head, fds, _, _ = socket.recv_fds(link, 12, 16)
        if len(head) < 12:
            return False
        request, flags, size = struct.unpack("<III", head)
        body = b""
        while len(body) < size:
            part = link.recv(size - len(body))
            if not part:
                return False
            body += part
        answer = self.reply(request, body, fds)
        if answer is None and flags & 8:
            answer = struct.pack("<Q", 0)
        if answer is not None:
            link.sendall(struct.pack("<III", request, 1 | 4, len(answer)) + answer)
        return True


def main():
    threading.Thread(target=lifeline, daemon=True).start()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(PATH)
    listener.listen(1)
    while True:
        link, _ = listener.accept()
        backend = Backend()
        backend.tell()
        while True:
            kicks = {ring.kick: ring for ring in backend.rings.values() if ring.kick is not None}
            ready, _, _ = select.select([link, *kicks], [], [])
            for kick in ready:
                if kick is not link:
                    os.read(kick, 8)
                    backend.serve(kicks[kick])
            if link in ready and not backend.message(link):
                break
        backend.forget()
        link.close()


main()
