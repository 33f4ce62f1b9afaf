"""Calls a running server with grpcio. Arguments: host:port, file descriptor set."""

import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

target, image = sys.argv[1], sys.argv[2]

pool = descriptor_pool.DescriptorPool()
with open(image, "rb") as source:
    for file in descriptor_pb2.FileDescriptorSet.FromString(source.read()).file:
        pool.Add(file)


def message(name):
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def method(channel, path, kind="unary_unary"):
    service, name = path.strip("/").split("/")
    found = pool.FindServiceByName(service).methods_by_name[name]
    request = message_factory.GetMessageClass(found.input_type)
    reply = message_factory.GetMessageClass(found.output_type)
    return request, getattr(channel, kind)(path, request.SerializeToString, reply.FromString)


def reason_of(error):
    """The reason in the details of a failed call, read from the google.rpc.Status it carries."""
    info = message("service.errors.v1.ErrorInfo")
    for key, value in error.trailing_metadata():
        if key == "grpc-status-details-bin":
            name = b"type.googleapis.com/service.errors.v1.ErrorInfo"
            at = value.index(name) + len(name)
            # A length-delimited field 2 follows the type address.
            length, shift, at = 0, 0, at + 1
            while True:
                byte = value[at]
                length, shift, at = length | (byte & 0x7F) << shift, shift + 7, at + 1
                if byte < 0x80:
                    break
            return info.FromString(value[at : at + length]).reason
    return None


def expect_failure(call, code, reason):
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code, error
        assert reason_of(error) == reason, (reason_of(error), error)
        return
    raise AssertionError(f"expected {code}")


for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
    with grpc.insecure_channel(target, compression=compression) as channel:
        request, get_instance = method(channel, "/service.instance.v1.InstanceService/GetInstance")
        assert len(get_instance(request(), timeout=10).instance_id) == 26

        request, create = method(channel, "/service.collection.v1.NamespaceService/CreateNamespace")
        expect_failure(lambda: create(request(name="?")), grpc.StatusCode.INVALID_ARGUMENT, "invalid_argument")
        expect_failure(
            lambda: create(request(name="x" * (17 << 20)), timeout=30),
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "resource_exhausted",
        )

        request, query = method(channel, "/service.live.v1.LiveService/Query")
        expect_failure(lambda: query(request()), grpc.StatusCode.UNIMPLEMENTED, "feature_not_in_variant")

        request, check = method(channel, "/grpc.health.v1.Health/Check")
        assert check(request(), timeout=10).status == 1
        expect_failure(lambda: check(request(service="nothing")), grpc.StatusCode.NOT_FOUND, "not_found")

        request, watch = method(channel, "/grpc.health.v1.Health/Watch", "unary_stream")
        stream = watch(request(), timeout=10)
        assert next(stream).status == 1
        stream.cancel()

print("grpcio", grpc.__version__)
