"""Takes jobs of the queue "mail" from a Skep server and acks them. Run it with the address: receiver.py 127.0.0.1:7537"""
import json, queue, sys, grpc
from skep.v1 import skep_pb2 as skep, skep_pb2_grpc as rpc

server = rpc.SkepStub(grpc.insecure_channel(sys.argv[1]))
requests = queue.SimpleQueue()
requests.put(skep.ReceiveRequest(open=skep.Open(name="python", queues=["mail"], credits=100)))
for batch in server.Receive(iter(requests.get, None)):
    acks = []
    for job in batch.jobs:
        print("mail to", json.loads(job.payload)["to"], flush=True)
        acks.append(skep.Ack(id=job.id, token=job.token, done='{"sent": true}'))
    requests.put(skep.ReceiveRequest(acks=acks))
