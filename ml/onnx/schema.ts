// The part of the ONNX model format (IR version 10) that this project writes, as a protobuf schema. Field numbers are those
// of the specification: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
import protobuf from 'protobufjs';
import type { DType } from '../ir/op.js';

const SCHEMA = `
syntax = "proto2";
package onnx;

message AttributeProto {
  optional string name = 1;
  optional float f = 2;
  optional int64 i = 3;
  optional bytes s = 4;
  repeated int64 ints = 8;
  optional int32 type = 20;
}

message ValueInfoProto {
  optional string name = 1;
  optional TypeProto type = 2;
}

message NodeProto {
  repeated string input = 1;
  repeated string output = 2;
  optional string name = 3;
  optional string opType = 4;
  repeated AttributeProto attribute = 5;
  optional string domain = 7;
}

message ModelProto {
  optional int64 irVersion = 1;
  optional string producerName = 2;
  optional GraphProto graph = 7;
  repeated OperatorSetIdProto opsetImport = 8;
}

message GraphProto {
  repeated NodeProto node = 1;
  optional string name = 2;
  repeated TensorProto initializer = 5;
  repeated ValueInfoProto input = 11;
  repeated ValueInfoProto output = 12;
}

message StringStringEntryProto {
  optional string key = 1;
  optional string value = 2;
}

message TensorProto {
  repeated int64 dims = 1;
  optional int32 dataType = 2;
  optional string name = 8;
  optional bytes rawData = 9;
  repeated StringStringEntryProto externalData = 13;
  optional int32 dataLocation = 14;
}

message TypeProto {
  message Tensor {
    optional int32 elemType = 1;
    optional TensorShapeProto shape = 2;
  }
  optional Tensor tensorType = 1;
}

message TensorShapeProto {
  message Dimension {
    oneof value {
      int64 dimValue = 1;
      string dimParam = 2;
    }
  }
  repeated Dimension dim = 1;
}

message OperatorSetIdProto {
  optional string domain = 1;
  optional int64 version = 2;
}
`;

const { root } = protobuf.parse(SCHEMA);

export const ModelProto = root.lookupType('onnx.ModelProto');

// The values of the specification's enums that are written.
export const ATTRIBUTE = { float: 1, int: 2, string: 3, ints: 7 } as const;
export const EXTERNAL = 1; // the value of dataLocation for bytes in another file
export const DATA_TYPE: Readonly<Record<DType, number>> = {
  float32: 1,
  uint8: 2,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  float64: 11,
  bfloat16: 16,
  uint4: 21,
};
