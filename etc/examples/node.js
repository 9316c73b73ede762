// A page by Node: see node.conf. All that differs from a server of its own is
// the socket: descriptor 0 is there and listens already.

const http = require('http');

const server = http.createServer((request, response) => {
	response.setHeader('Content-Type', 'text/plain');
	response.end(`process ${process.pid}: ${request.url}\n`);
});

server.listen({ fd: 0 });

// What has begun is finished before it leaves.
process.on('SIGTERM', () => server.close());
