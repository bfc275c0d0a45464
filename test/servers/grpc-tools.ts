// Python's gRPC and the compiler of protos: what is on the machine, or Debian's packages.

import { existsSync } from 'node:fs'
import { installPackage } from './apt.ts'

/** A package, and a file that it brings. */
export const grpcPackages: readonly (readonly [name: string, path: string])[] = [
  ['python3-grpcio', '/usr/lib/python3/dist-packages/grpc'],
  ['protobuf-compiler', '/usr/bin/protoc'],
  ['protobuf-compiler-grpc', '/usr/bin/grpc_python_plugin'],
  ['libprotobuf-dev', '/usr/include/google/protobuf/struct.proto'],
]

/** Undefined when Python's client and the compiler are there, otherwise the reason why not. */
export function installPython(): string | undefined {
  const missing = grpcPackages.filter(([, path]) => !existsSync(path)).map(([name]) => name)
  return missing.length === 0 ? undefined : installPackage(...missing)
}
