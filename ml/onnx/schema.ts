// The part of the ONNX model format (IR version 10) that this project writes, as a protobuf schema. Field numbers are those
// of the specification: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
import protobuf from 'protobufjs';

const SCHEMA = `
syntax = "proto2";
package onnx;

message AttributeProto {
  optional string name = 1;
  optional float f = 2;
  optional int64 i = 3;
  optional bytes s = 4;
  repeated float floats = 7;
  repeated int64 ints = 8;
  enum AttributeType {
    UNDEFINED = 0;
    FLOAT = 1;
    INT = 2;
    STRING = 3;
    FLOATS = 6;
    INTS = 7;
  }
  optional AttributeType type = 20;
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
  enum DataType {
    UNDEFINED = 0;
    FLOAT = 1;
    UINT8 = 2;
    INT32 = 6;
    INT64 = 7;
    BOOL = 9;
    FLOAT16 = 10;
    DOUBLE = 11;
    BFLOAT16 = 16;
    UINT4 = 21;
  }
  enum DataLocation {
    DEFAULT = 0;
    EXTERNAL = 1;
  }
  repeated int64 dims = 1;
  optional int32 dataType = 2;
  optional string name = 8;
  optional bytes rawData = 9;
  repeated StringStringEntryProto externalData = 13;
  optional DataLocation dataLocation = 14;
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
/** The numbers of an enum by name. */
const numbers = <K extends string>(name: string): Record<K, number> =>
  root.lookupEnum(name).values as Record<K, number>;
export const AttributeType = numbers<'FLOAT' | 'INT' | 'STRING' | 'INTS'>('onnx.AttributeProto.AttributeType');
export const DataLocation = numbers<'EXTERNAL'>('onnx.TensorProto.DataLocation');
export const DataType = numbers<
  'DOUBLE' | 'FLOAT' | 'BFLOAT16' | 'FLOAT16' | 'INT64' | 'INT32' | 'UINT8' | 'UINT4' | 'BOOL'
>('onnx.TensorProto.DataType');
