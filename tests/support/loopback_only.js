// Loaded with `node -r` before a server that would listen on every interface: it listens on 127.0.0.1 instead, and
// ends when the test that started it is gone and its standard input closes.
"use strict";

const net = require("net");
const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (first, ...rest) {
  const options = typeof first === "object" && first !== null ? first : { port: first };
  const callback = rest.find((argument) => typeof argument === "function");
  return listen.call(this, { ...options, host: "127.0.0.1" }, ...(callback ? [callback] : []));
};

process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
