/* A window that slides over an image [height, width, channels]. */
typedef struct {
  int32_t height, width, channels;
  int32_t out_height, out_width, outputs;
  int32_t kernel_height, kernel_width;
  int32_t stride_y, stride_x;
  int32_t dilation_y, dilation_x;
  int32_t pad_top, pad_left;
} ht_window;
